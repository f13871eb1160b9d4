/** `/account/security`: password, passkeys, sessions and password resets. */

import { notFound } from "../../errors/errors.ts";
import { OIDC } from "../../protocol/oidc.ts";
import {
  changePassword as changePasswordForm,
  MIN_PASSWORD,
  recoveriesRead,
} from "../../protocol/sign-in.ts";
import { parse } from "../../routes/router.ts";
import {
  isOnlyWay,
  linkIdentity,
  requireOidc,
  unlinkIdentity,
} from "../../services/sign-in/oidc.ts";
import {
  changePassword,
  endSession,
  endSessions,
  listRecentRecoveries,
  listSignInMethods,
  markRecoveriesRead,
  type Recovery,
  removePasskey,
  type SignInMethods,
} from "../../services/sign-in/security.ts";
import { limitAttempts, requireUser, viewerOf } from "../access.ts";
import {
  addCookies,
  type PageContext,
  pages,
  redirectWithFlash,
  requestSource,
  type Viewer,
} from "../context.ts";
import { type Draft, emptyDraft, handleForm, pickFields, readForm } from "../form.ts";
import { leaveFor } from "../sign-in/leave.tsx";
import { Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Time } from "../ui/parts.tsx";
import { AccountTabs } from "../ui/tabs.tsx";
import { AuthenticatorApp } from "./authenticator.tsx";

const ADDRESS = "/account/security";

export const securityPages = pages()
  .get(ADDRESS, requireUser, (c) => show(c, emptyDraft))
  .post(`${ADDRESS}/oidc/link`, requireUser, async (c) => {
    await limitAttempts(c);
    const { services } = c.var;
    const { name } = requireOidc(services);
    const { session } = viewerOf(c);
    const begun = await linkIdentity(services, session, requestSource(c), ADDRESS);
    return leaveFor(c, { ...begun, name });
  })
  .post(`${ADDRESS}/oidc/unlink`, requireUser, async (c) => {
    await unlinkIdentity(c.var.services, viewerOf(c).session);
    return redirectWithFlash(c, "Unlinked.", ADDRESS);
  })
  .post(`${ADDRESS}/password`, requireUser, async (c) => {
    if (c.var.services.settings.oidcOnly) throw notFound("This address");
    const { done: cookies, draft } = await handleForm(c, async (form) => {
      await limitAttempts(c, viewerOf(c).session_id);
      const request = parse(changePasswordForm, pickFields(form, "current", "password"), "body");
      return changePassword(c.var.services, viewerOf(c).user.id, requestSource(c), request);
    });
    if (draft) return show(c, draft);
    addCookies(c, cookies);
    return redirectWithFlash(c, "Password changed. Other sessions were logged out.", ADDRESS);
  })
  .post(`${ADDRESS}/passkeys/:id/remove`, requireUser, async (c) => {
    await removePasskey(c.var.services, viewerOf(c).user.id, c.req.param("id"));
    return redirectWithFlash(c, "Passkey removed.", ADDRESS);
  })
  .post(`${ADDRESS}/sessions/:id/end`, requireUser, async (c) => {
    await endSession(c.var.services, viewerOf(c).user.id, c.req.param("id"));
    return redirectWithFlash(c, "Session logged out.", ADDRESS);
  })
  .post(`${ADDRESS}/sessions/end`, requireUser, async (c) => {
    await endSessions(c.var.services, viewerOf(c).user.id);
    return redirectWithFlash(c, "You are logged out everywhere.", "/sign-in");
  })
  .post(`${ADDRESS}/recoveries/read`, requireUser, async (c) => {
    const { until } = parse(recoveriesRead, pickFields(await readForm(c), "until"), "body");
    await markRecoveriesRead(c.var.services, viewerOf(c).user.id, until);
    return redirectWithFlash(c, "Notice dismissed. The reset stays listed here.", ADDRESS);
  });

async function show(c: PageContext, draft: Draft) {
  const viewer = viewerOf(c);
  const { services } = c.var;
  const [ways, recoveries] = await Promise.all([
    listSignInMethods(services, viewer.user.id),
    listRecentRecoveries(services, viewer.user.id),
  ]);
  const { oidc, oidcOnly } = services.settings;
  const error = c.req.query("error");
  const page = (
    <SecurityPage
      draft={draft}
      ways={ways}
      recoveries={recoveries}
      viewer={viewer}
      oidc={oidc && { name: oidc.name, isOnlyWay: isOnlyWay(services, ways) }}
      oidcOnly={oidcOnly}
      problem={oidc && error !== undefined ? linkProblem(error, oidc.name) : undefined}
    />
  );
  return c.render(page, { title: "Security", scripts: ["account"] });
}

const SecurityPage = ({
  draft,
  ways: { providers, passkeys, totp, places },
  recoveries,
  viewer: { user, email, session_id },
  oidc,
  oidcOnly,
  problem,
}: {
  draft: Draft;
  ways: SignInMethods;
  recoveries: Recovery[];
  viewer: Viewer;
  oidc: Linkable | undefined;
  oidcOnly: boolean;
  problem: string | undefined;
}) => (
  <>
    <h1>Security</h1>
    <AccountTabs current={ADDRESS} />
    {problem !== undefined && (
      <p class="problem" role="alert">
        {problem}
      </p>
    )}
    <p>
      Your email address is <strong>{email}</strong>
      {providers.includes("github") && ". You log in with GitHub"}.
    </p>
    {oidc !== undefined && <Provider provider={oidc} isLinked={providers.includes(OIDC)} />}
    {!oidcOnly && providers.includes("credential") && (
      <>
        <Password draft={draft} />
        <AuthenticatorApp isOn={totp} />
      </>
    )}
    {!oidcOnly && <Passkeys passkeys={passkeys} />}
    <Sessions places={places} current={session_id} />
    {recoveries.length > 0 && <Recoveries recoveries={recoveries} unread={user.recovered_at} />}
  </>
);

/** @param error a code of better-auth's, after a link that failed */
const linkProblem = (error: string, name: string): string =>
  error === "account_already_linked_to_different_user"
    ? `This login of ${name} belongs to another account here. Log in with it, and unlink it there.`
    : `${name} did not confirm your login. Try again.`;

/** The OpenID Connect provider. */
interface Linkable {
  name: string;
  isOnlyWay: boolean;
}

const Provider = ({
  provider: { name, isOnlyWay: isOnly },
  isLinked,
}: {
  provider: Linkable;
  isLinked: boolean;
}) => (
  <section aria-labelledby="provider-title">
    <h2 id="provider-title">Log in with {name}</h2>
    {isLinked && isOnly && <p class="hint">This is your only way to log in.</p>}
    {isLinked && !isOnly && (
      <Form action={`${ADDRESS}/oidc/unlink`} data-confirm={`Unlink ${name}?`}>
        <Submit kind="quiet">Unlink {name}</Submit>
      </Form>
    )}
    {!isLinked && (
      <Form action={`${ADDRESS}/oidc/link`}>
        <p class="hint">Link your account there, to log in with it from now on.</p>
        <Submit kind="quiet">Link {name}</Submit>
      </Form>
    )}
  </section>
);

const Password = ({ draft }: { draft: Draft }) => (
  <section aria-labelledby="password-title">
    <h2 id="password-title">Password</h2>
    <Form action={`${ADDRESS}/password`} class="narrow" draft={draft}>
      <TextField
        name="current"
        label="Current password"
        type="password"
        autocomplete="current-password"
        required
      />
      <TextField
        name="password"
        label="New password"
        type="password"
        autocomplete="new-password"
        hint={`At least ${MIN_PASSWORD} characters. Other sessions will be logged out.`}
        minlength={MIN_PASSWORD}
        required
      />
      <Submit>Change password</Submit>
    </Form>
  </section>
);

const Passkeys = ({ passkeys }: { passkeys: SignInMethods["passkeys"] }) => (
  <section aria-labelledby="passkeys-title">
    <h2 id="passkeys-title">Passkeys</h2>
    <p class="hint">Log in with this device, a phone or a security key, without a password.</p>
    {passkeys.length > 0 && (
      <ul class="rows">
        {passkeys.map(({ id, name, created_at }) => (
          <li>
            <span>
              {name || "Passkey"}
              {created_at && (
                <small>
                  added <Time at={created_at.getTime()} />
                </small>
              )}
            </span>
            <Form action={`${ADDRESS}/passkeys/${id}/remove`} data-confirm="Remove this passkey?">
              <Submit kind="quiet">Remove</Submit>
            </Form>
          </li>
        ))}
      </ul>
    )}
    <button type="button" class="quiet" data-add-passkey hidden>
      Add passkey
    </button>
    <p class="field-error" id="passkey-error" role="alert" hidden />
    <noscript>
      <p class="hint">Passkeys need JavaScript.</p>
    </noscript>
  </section>
);

const Sessions = ({ places, current }: { places: SignInMethods["places"]; current: string }) => (
  <section aria-labelledby="sessions-title">
    <h2 id="sessions-title">Active sessions</h2>
    <ul class="rows">
      {places.map(({ id, user_agent, created_at }) => (
        <li>
          <span>
            {deviceOf(user_agent ?? "")}
            {id === current && <strong> (this session)</strong>}
            <small>
              logged in <Time at={created_at.getTime()} />
            </small>
          </span>
          {id !== current && (
            <Form action={`${ADDRESS}/sessions/${id}/end`}>
              <Submit kind="quiet">Log out</Submit>
            </Form>
          )}
        </li>
      ))}
    </ul>
    <Form action={`${ADDRESS}/sessions/end`} data-confirm="Log out everywhere, including here?">
      <Submit kind="danger">Log out everywhere</Submit>
    </Form>
  </section>
);

/** The operator who created a link could have used it themselves. */
const Recoveries = ({ recoveries, unread }: { recoveries: Recovery[]; unread: number | null }) => (
  <section id="recoveries" aria-labelledby="recoveries-title">
    <h2 id="recoveries-title">Password resets by an operator's link</h2>
    <ul class="rows">
      {recoveries.map(({ made_by, created_at, accepted_at }) => (
        <li>
          <span>
            Created by {made_by ?? "an operator"} on <Time at={created_at} />
            <small>used on {accepted_at !== null && <Time at={accepted_at} />}</small>
          </span>
        </li>
      ))}
    </ul>
    <p class="hint">
      If you did not ask for a reset, change your password, revoke tokens you do not recognize, and
      contact the operators.
    </p>
    {unread !== null && (
      <Form action={`${ADDRESS}/recoveries/read`}>
        <input type="hidden" name="until" value={String(unread)} />
        <Submit kind="quiet">Dismiss</Submit>
      </Form>
    )}
  </section>
);

// Order matters: Edge and Opera also contain "Chrome", and Chrome contains "Safari".
const BROWSERS = [
  [/Edg\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\//, "Firefox"],
  [/Chrom(e|ium)\//, "Chrome"],
  [/Safari\//, "Safari"],
] as const;

const SYSTEMS = [
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/Linux|X11/, "Linux"],
] as const;

function deviceOf(userAgent: string): string {
  const browser = BROWSERS.find(([mark]) => mark.test(userAgent))?.[1];
  const system = SYSTEMS.find(([mark]) => mark.test(userAgent))?.[1];
  if (browser && system) return `${browser} on ${system}`;
  return browser ?? system ?? "Unknown browser";
}
