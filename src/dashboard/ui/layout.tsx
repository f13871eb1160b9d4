/** The layout of every page: navigation, user menu and flash message. */
import type { Child, PropsWithChildren } from "hono/jsx";
import { jsxRenderer, RequestContext, useRequestContext } from "hono/jsx-renderer";
import { FORM_TOKEN_FIELD } from "../access.ts";
import type { Dashboard, PageContext, Viewer } from "../context.ts";
import { type Draft, emptyDraft } from "../form.ts";
import { DraftContext, Problem } from "./fields.tsx";
import { Head, Scripts } from "./head.tsx";
import { Bird, Icon } from "./icon.tsx";
import type { IconName } from "./icons.ts";
import { Time } from "./parts.tsx";

export const layout = jsxRenderer(({ children, title, scripts = [] }) => {
  const c = useRequestContext<Dashboard>();
  const { assets, viewer, formToken, flash } = c.var;
  return (
    <html lang="en">
      <head>
        <Head title={title} assets={assets} style="style.css" />
        {formToken !== "" && <meta name="form-token" content={formToken} />}
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <header class="top">
          <a class="brand" href="/">
            <Bird assets={assets} />
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
        <Scripts assets={assets} names={scripts} />
      </body>
    </html>
  );
});

/** Shown on every page until dismissed: an operator could have used the reset link themselves. */
const RecoveryNotice = ({ at }: { at: number }) => (
  <p class="flash warning" role="status">
    The password of this account was reset on <Time at={at} /> with a link that an operator created.{" "}
    <a href="/account/security#recoveries">See who created it</a>.
  </p>
);

type Place = readonly [address: string, name: string, icon: IconName];

const MODELS: Place = ["/models", "Models", "models"];
const OWN_PLACES: Place[] = [
  ["/predictions", "Predictions", "predictions"],
  ["/account/usage", "Usage", "usage"],
  ["/account/webhooks", "Webhooks", "webhooks"],
];
const OPERATOR_PLACES: Place[] = [
  ["/fleet", "Fleet", "fleet"],
  ["/users", "Users", "users"],
];
const DOCS: Place = ["/docs", "Docs", "docs"];

function Navigation({ viewer, path }: { viewer: Viewer | undefined; path: string }) {
  const groups = [
    viewer ? [MODELS, ...OWN_PLACES] : [MODELS],
    viewer?.operator ? OPERATOR_PLACES : [],
    [DOCS],
  ];
  const places = groups.flatMap((group) =>
    group.map((place, at) => ({ place, isFirst: at === 0 })),
  );
  return (
    <nav class="main-nav" aria-label="Main">
      <a
        href="/find"
        class="line-up find-link"
        aria-current={path === "/find" ? "page" : undefined}
        aria-keyshortcuts="Control+K"
        data-finder
      >
        <Icon name="find" />
        Find
        <span class="keys" aria-hidden="true">
          Ctrl K
        </span>
      </a>
      {places.map(({ place: [address, name, icon], isFirst }) => (
        <a
          href={address}
          class={isFirst && address !== MODELS[0] ? "line-up apart" : "line-up"}
          aria-current={
            path === address ? "page" : path.startsWith(`${address}/`) ? "true" : undefined
          }
        >
          <Icon name={icon} />
          {name}
        </a>
      ))}
    </nav>
  );
}

const MENU = [
  ["/account", "Profile"],
  ["/account/security", "Security"],
  ["/tokens", "Access tokens"],
  ["/organizations", "Organizations"],
  ["/account/data", "Export"],
  ["/account/delete", "Danger zone"],
];

const UserMenu = ({ viewer: { user } }: { viewer: Viewer }) => (
  <details class="menu">
    <summary class="line-up">
      <Avatar user={user} /> <span class="clip">{user.username}</span>
      <Icon name="open" />
    </summary>
    <div class="box menu-items">
      {MENU.map(([address, name]) => (
        <a href={address}>{name}</a>
      ))}
      <Form action="/sign-out">
        <button type="submit" class="plain">
          Log out
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

/** Responses to forms have no login link: typed text would be lost, and their address may not be a page. */
const SignInLink = ({
  request: { method, path },
}: {
  request: { method: string; path: string };
}) => (
  <p class="sign-in-link flush">
    {method === "GET" && path !== "/sign-in" && (
      <a href={`/sign-in${path === "/" ? "" : `?next=${encodeURIComponent(path)}`}`}>Log in</a>
    )}
  </p>
);

/** A form with the CSRF token of the session, and with what was wrong when it was sent. */
export function Form({
  draft = emptyDraft,
  children,
  ...attributes
}: PropsWithChildren<{
  action: string;
  draft?: Draft;
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
      <Problem draft={draft} />
      <DraftContext.Provider value={draft}>{children}</DraftContext.Provider>
    </form>
  );
}

/** Renders without the layout, but with the context that forms need. */
export const fragment = (c: PageContext, content: Child) =>
  c.html(<RequestContext.Provider value={c}>{content}</RequestContext.Provider>);
