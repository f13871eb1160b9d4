import { addCookies, type PageContext } from "../context.ts";

/**
 * Sends the browser to another provider's login with a page, not with a redirect: browsers apply the form-action of
 * our pages to redirects of forms, and a provider may lead on to hosts that nobody has listed.
 * @param cookies for the way back
 */
export function leaveFor(
  c: PageContext,
  { url, cookies, name }: { url: string; cookies: string[]; name: string },
) {
  addCookies(c, cookies);
  c.header("refresh", `0;url=${url}`);
  const page = (
    <p>
      Continue to <a href={url}>{name}</a>.
    </p>
  );
  return c.render(page, { title: `Log in with ${name}` });
}
