/** The path to go to after signing in. */

/** Only a path of this origin: anything else would be an open redirect. */
export function nextPath(text: string | undefined): string {
  if (!text?.startsWith("/") || text.startsWith("//") || !/^[\x21-\x5b\x5d-\x7e]*$/.test(text))
    return "/";
  return text;
}
