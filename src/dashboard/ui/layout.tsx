/** The layout of every page: navigation, user menu and flash message. */
import type { PropsWithChildren } from "hono/jsx";
import { jsxRenderer, useRequestContext } from "hono/jsx-renderer";
import type { Manifest } from "../../protocol/assets.ts";
import { FORM_TOKEN_FIELD } from "../access.ts";
import type { Dashboard, Viewer } from "../context.ts";
import { ICON } from "./icon.ts";
import { Time } from "./parts.tsx";

export const layout = jsxRenderer(({ children, title, scripts = [] }) => {
  const c = useRequestContext<Dashboard>();
  const { assets, viewer, formToken, flash } = c.var;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        {formToken !== "" && <meta name="form-token" content={formToken} />}
        <title>{`${title} · Auspex`}</title>
        <link rel="icon" href={ICON} />
        <link rel="stylesheet" href={addressOf(assets, "style.css")} />
        {["page", ...scripts].map((name) => (
          <script type="module" src={addressOf(assets, name)} />
        ))}
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <header class="top">
          <a class="brand" href="/">
            Auspex
          </a>
          <Navigation viewer={viewer} path={c.req.path} />
          {viewer ? <UserMenu viewer={viewer} /> : <SignInLink request={c.req} />}
        </header>
        <main id="main" tabindex={-1}>
          {flash !== undefined && (
            <p class="flash" role="status">
              {flash}
            </p>
          )}
          {viewer?.user.recovered_at != null && <RecoveryNotice at={viewer.user.recovered_at} />}
          {children}
        </main>
      </body>
    </html>
  );
});

function addressOf({ files }: Manifest, name: string): string {
  const address = files[name];
  if (address === undefined) throw new Error(`${name} is not in the asset manifest`);
  return address;
}

/** Shown on every page until dismissed: an operator could have used the reset link themselves. */
const RecoveryNotice = ({ at }: { at: number }) => (
  <p class="flash warning" role="status">
    The password of this account was reset on <Time at={at} /> with a link that an operator created.{" "}
    <a href="/account/security#recoveries">See who created it</a>.
  </p>
);

const LINKS = [
  ["/models", "Models"],
  ["/predictions", "Predictions"],
  ["/tokens", "Tokens"],
] as const;

const OPERATOR_LINKS = [
  ["/fleet", "Fleet"],
  ["/users", "Users"],
] as const;

function Navigation({ viewer, path }: { viewer: Viewer | undefined; path: string }) {
  const places = [
    ...LINKS.filter(([address]) => viewer || address === "/models"),
    ...(viewer?.operator ? OPERATOR_LINKS : []),
    ["/docs", "Docs"],
  ];
  return (
    <nav class="main-nav" aria-label="Main">
      {places.map(([address = "", name]) => (
        <a
          href={address}
          aria-current={
            path === address ? "page" : path.startsWith(`${address}/`) ? "true" : undefined
          }
        >
          {name}
        </a>
      ))}
    </nav>
  );
}

const UserMenu = ({ viewer: { user } }: { viewer: Viewer }) => (
  <details class="menu">
    <summary>
      <Avatar user={user} /> <span>{user.username}</span>
    </summary>
    <div class="menu-items">
      <a href="/account">Profile</a>
      <a href="/account/security">Security</a>
      <a href="/account/usage">Usage</a>
      <Form action="/sign-out">
        <button type="submit" class="plain">
          Sign out
        </button>
      </Form>
    </div>
  </details>
);

/** The picture, or the first letter of the username. */
const Avatar = ({ user }: { user: { username: string; avatar_url: string } }) =>
  user.avatar_url ? (
    <img class="avatar" src={new URL(user.avatar_url).pathname} alt="" width="24" height="24" />
  ) : (
    <span class="avatar" aria-hidden="true">
      {user.username.slice(0, 1)}
    </span>
  );

/** Not on responses to forms: leaving would lose what was typed, and the address may not be a page. */
const SignInLink = ({
  request: { method, path },
}: {
  request: { method: string; path: string };
}) => (
  <p class="sign-in-link">
    {method === "GET" && path !== "/sign-in" && (
      <a href={`/sign-in${path === "/" ? "" : `?next=${encodeURIComponent(path)}`}`}>Sign in</a>
    )}
  </p>
);

/** A form with the CSRF token of the session. */
export function Form({
  children,
  ...attributes
}: PropsWithChildren<{
  action: string;
  class?: string;
  id?: string;
  enctype?: "multipart/form-data";
  hidden?: boolean;
  "data-invitation"?: boolean;
  /** A question that client code asks before submitting. */
  "data-confirm"?: string;
}>) {
  const { formToken } = useRequestContext<Dashboard>().var;
  return (
    <form method="post" {...attributes}>
      {formToken !== "" && <input type="hidden" name={FORM_TOKEN_FIELD} value={formToken} />}
      {children}
    </form>
  );
}
