/** Where somebody goes on who has signed in. */

/** A path of ours as a URL has it: another's address would make our form a way to it. */
export function nextPath(text: string | undefined): string {
  if (!text?.startsWith("/") || text.startsWith("//") || !/^[\x21-\x5b\x5d-\x7e]*$/.test(text))
    return "/";
  return text;
}
