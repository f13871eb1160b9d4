/** The layout of every page: navigation, user menu and flash message. */
import type { Child, PropsWithChildren } from "hono/jsx";
import { jsxRenderer, RequestContext, useRequestContext } from "hono/jsx-renderer";
import { hasRole } from "../../domain/accounts/access.ts";
import { isClosed } from "../../middleware/closed.ts";
import { FORM_TOKEN_FIELD } from "../access.ts";
import { accountsOf, addressIn, baseOf, pageOf } from "../addresses.ts";
import { type Dashboard, isPersonal, type PageContext, type Viewer } from "../context.ts";
import { type Draft, emptyDraft } from "../form.ts";
import { DraftContext, Problem } from "./fields.tsx";
import { Head, Scripts } from "./head.tsx";
import { Bird, Icon } from "./icon.tsx";
import type { IconName } from "./icons.ts";
import { Time } from "./parts.tsx";

export const layout = jsxRenderer(({ children, title, scripts = [] }) => {
  const c = useRequestContext<Dashboard>();
  const { assets, viewer, formToken, flash } = c.var;
  const base = baseOf(viewer);
  const named = viewer && base !== "" ? `${title} · ${viewer.account.username}` : title;
  return (
    <html lang="en" data-base={base || undefined}>
      <head>
        <Head title={named} assets={assets} style="style.css" />
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
          {viewer ? (
            <AccountMenu viewer={viewer} path={c.req.path} />
          ) : (
            <SignInLink request={c.req} />
          )}
          {(viewer || !isClosed(c.var.services)) && (
            <Navigation viewer={viewer} path={c.req.path} />
          )}
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
const PREDICTIONS: Place = ["/predictions", "Predictions", "predictions"];
const DEPLOYMENTS: Place = ["/account/deployments", "Deployments", "deployments"];
const USAGE: Place = ["/account/usage", "Usage", "usage"];
const WEBHOOKS: Place = ["/account/webhooks", "Webhooks", "webhooks"];
const OPERATOR_PLACES: Place[] = [
  ["/fleet", "Fleet", "fleet"],
  ["/users", "Users", "users"],
  ["/usage", "All usage", "usage"],
  ["/audit", "Audit log", "audit"],
];
const DOCS: Place = ["/docs", "Docs", "docs"];

/** The places of the viewer's account. */
function placesOf(viewer: Viewer): Place[] {
  if (isPersonal(viewer)) return [MODELS, PREDICTIONS, DEPLOYMENTS, USAGE, WEBHOOKS];
  const base = baseOf(viewer);
  return [
    [base, "Overview", "home"],
    [`/models/${viewer.account.username}`, "Models", "models"],
    PREDICTIONS,
    DEPLOYMENTS,
    USAGE,
    ...(hasRole(viewer.caller, "developer") ? [WEBHOOKS] : []),
    [`${base}/members`, "Members", "users"],
    [hasRole(viewer.caller, "admin") ? "/account" : "/tokens", "Settings", "settings"],
  ];
}

function Navigation({ viewer, path }: { viewer: Viewer | undefined; path: string }) {
  const base = baseOf(viewer);
  const groups = [
    viewer ? placesOf(viewer) : [MODELS],
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
      {places.map(({ place: [place, name, icon], isFirst }, n) => {
        const address = addressIn(base, place);
        const isWithin = address !== base && path.startsWith(`${address}/`);
        return (
          <a
            href={address}
            class={isFirst && n > 0 ? "line-up apart" : "line-up"}
            aria-current={path === address ? "page" : isWithin ? "true" : undefined}
          >
            <Icon name={icon} />
            {name}
          </a>
        );
      })}
    </nav>
  );
}

const MENU = [
  ["/account", "Profile"],
  ["/account/security", "Security"],
  ["/tokens", "Access tokens"],
  ["/account/audit", "Audit log"],
  ["/account/data", "Export"],
  ["/account/delete", "Danger zone"],
];

/** Says whose page it is, and leads to the same page of another account. */
const AccountMenu = ({ viewer, path }: { viewer: Viewer; path: string }) => (
  <details class="menu" data-user={viewer.user.username}>
    <summary class="line-up">
      <Avatar user={viewer.account} /> <span class="clip">{viewer.account.username}</span>
      <Icon name="open" />
    </summary>
    <div class="box menu-items">
      {accountsOf(viewer).map((account) => (
        <a
          href={pageOf(account, viewer, path)}
          data-own
          class="line-up"
          aria-current={account.id === viewer.account.id ? "true" : undefined}
        >
          <Avatar user={account} /> <span class="clip">{account.username}</span>
        </a>
      ))}
      <a href="/organizations">
        {viewer.organizations.length === 0 ? "Create an organization" : "Organizations"}
      </a>
      <hr class="flush" />
      {MENU.map(([address, name]) => (
        <a href={address} data-own>
          {name}
        </a>
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

interface RevokeProps {
  action: string;
  /** The name of the token. */
  name: string;
  /** The question that client code asks before. */
  confirm: string;
}

export const RevokeForm = ({ action, name, confirm }: RevokeProps) => (
  <Form action={action} data-confirm={confirm}>
    <button type="submit" class="danger" aria-label={`Revoke ${name}`}>
      Revoke
    </button>
  </Form>
);

/** Renders without the layout, but with the context that forms need. */
export const fragment = (c: PageContext, content: Child) =>
  c.html(<RequestContext.Provider value={c}>{content}</RequestContext.Provider>);
