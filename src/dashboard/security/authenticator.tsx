/** `/account/security/app`: an authenticator app as the second factor, and its recovery codes. */
import { encode } from "uqr";
import { confirmation, confirmTotp } from "../../protocol/sign-in.ts";
import { parse } from "../../routes/router.ts";
import { listSignInMethods } from "../../services/sign-in/security.ts";
import {
  beginApp,
  confirmApp,
  type NewApp,
  newRecoveryCodes,
  removeApp,
} from "../../services/sign-in/two-factor.ts";
import { limitAttempts, requireUser, viewerOf } from "../access.ts";
import {
  addCookies,
  type PageContext,
  pages,
  redirectWithFlash,
  requestSource,
} from "../context.ts";
import { type Draft, emptyDraft, fieldText, handleForm, pickFields, readForm } from "../form.ts";
import { Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Above, Copy } from "../ui/parts.tsx";

const SECURITY = "/account/security";
const ADDRESS = `${SECURITY}/app`;
const TITLE = "Authenticator app";

export const authenticatorPages = pages()
  .get(ADDRESS, requireUser, (c) => show(c))
  .post(ADDRESS, requireUser, async (c) => {
    const { done: app, draft } = await confirmed(c, (password) =>
      beginApp(c.var.services, requestSource(c), password),
    );
    return draft ? show(c, { begin: draft }) : c.render(<SetUp app={app} />, { title: TITLE });
  })
  .post(`${ADDRESS}/confirm`, requireUser, async (c) => {
    const { done: cookies, draft } = await handleForm(c, async (form) => {
      await limitAttempts(c, viewerOf(c).session_id);
      const { code } = parse(confirmTotp, pickFields(form, "code", "uri", "codes"), "body");
      return confirmApp(c.var.services, requestSource(c), code);
    });
    if (draft) {
      const form = await readForm(c);
      const app = { uri: fieldText(form, "uri"), codes: fieldText(form, "codes").split(" ") };
      return c.render(<SetUp app={app} draft={draft} />, { title: TITLE });
    }
    addCookies(c, cookies);
    return redirectWithFlash(c, "Logins with your password now need a code.", SECURITY);
  })
  .post(`${ADDRESS}/codes`, requireUser, async (c) => {
    const { done: codes, draft } = await confirmed(c, (password) =>
      newRecoveryCodes(c.var.services, viewerOf(c).user.id, requestSource(c), password),
    );
    return show(c, draft ? { codes: draft } : {}, codes);
  })
  .post(`${ADDRESS}/remove`, requireUser, async (c) => {
    const { done: cookies, draft } = await confirmed(c, (password) =>
      removeApp(c.var.services, requestSource(c), password),
    );
    if (draft) return show(c, { remove: draft });
    addCookies(c, cookies);
    return redirectWithFlash(c, "Authenticator app removed.", SECURITY);
  });

/** Handles a form with the user's password, whose attempts are limited like those of a login. */
const confirmed = <Done,>(c: PageContext, act: (password: string) => Promise<Done>) =>
  handleForm(c, async (form) => {
    await limitAttempts(c, viewerOf(c).session_id);
    const { password } = parse(confirmation, pickFields(form, "password"), "body");
    return act(password);
  });

interface Drafts {
  begin?: Draft;
  codes?: Draft;
  remove?: Draft;
}

/** @param codes new recovery codes, shown only once */
async function show(c: PageContext, drafts: Drafts = {}, codes?: string[]) {
  const { totp, providers } = await listSignInMethods(c.var.services, viewerOf(c).user.id);
  const page = (
    <>
      <Above places={[[SECURITY, "Security"]]} />
      <h1>{TITLE}</h1>
      {codes && (
        <section class="panel new-secret" aria-labelledby="codes-title">
          <h2 id="codes-title">Your new recovery codes</h2>
          <RecoveryCodes codes={codes} />
        </section>
      )}
      {totp ? (
        <Manage drafts={drafts} />
      ) : providers.includes("credential") ? (
        <Begin draft={drafts.begin ?? emptyDraft} />
      ) : (
        <p>
          You log in without a password. Add a <a href={SECURITY}>passkey</a> as a second factor.
        </p>
      )}
    </>
  );
  return c.render(page, { title: TITLE });
}

const PasswordField = () => (
  <TextField
    name="password"
    label="Your password"
    type="password"
    autocomplete="current-password"
    required
  />
);

const Begin = ({ draft }: { draft: Draft }) => (
  <>
    <p>
      Any app for one-time codes works: your password manager, Google Authenticator, Aegis and
      others. Logins with your password then ask for a code. Logins with a passkey do not need one.
    </p>
    <Form action={ADDRESS} class="narrow" draft={draft}>
      <PasswordField />
      <Submit>Set up</Submit>
    </Form>
  </>
);

const Manage = ({ drafts: { codes = emptyDraft, remove = emptyDraft } }: { drafts: Drafts }) => (
  <>
    <p>Logins with your password need a code of your app, or a recovery code.</p>
    <section aria-labelledby="recovery-title">
      <h2 id="recovery-title">New recovery codes</h2>
      <Form action={`${ADDRESS}/codes`} class="narrow" draft={codes}>
        <p class="hint">Each code can be used once. Earlier ones stop working.</p>
        <PasswordField />
        <Submit kind="quiet">Create codes</Submit>
      </Form>
    </section>
    <section aria-labelledby="remove-title">
      <h2 id="remove-title">Remove the app</h2>
      <Form action={`${ADDRESS}/remove`} class="narrow" draft={remove}>
        <p class="hint">To use another app, remove this one and set the other up.</p>
        <PasswordField />
        <Submit kind="danger">Remove</Submit>
      </Form>
    </section>
  </>
);

const SetUp = ({ app: { uri, codes }, draft = emptyDraft }: { app: NewApp; draft?: Draft }) => (
  <>
    <Above places={[[SECURITY, "Security"]]} />
    <h1>{TITLE}</h1>
    <section class="measure" aria-labelledby="scan-title">
      <h2 id="scan-title">1. Scan this code with the app</h2>
      <QrCode text={uri} />
      <p class="hint">Or enter the secret in the app:</p>
      <Copy text={secretOf(uri)} label="Copy secret" />
    </section>
    <section class="measure" aria-labelledby="codes-title">
      <h2 id="codes-title">2. Keep the recovery codes</h2>
      <RecoveryCodes codes={codes} />
    </section>
    <section aria-labelledby="code-title">
      <h2 id="code-title">3. Enter what the app shows</h2>
      <Form action={`${ADDRESS}/confirm`} class="narrow" draft={draft}>
        <input type="hidden" name="uri" value={uri} />
        <input type="hidden" name="codes" value={codes.join(" ")} />
        <TextField
          name="code"
          label="Code"
          autocomplete="one-time-code"
          hint="6 digits. Until you enter them, the app is off."
          maxlength={20}
          required
        />
        <Submit>Turn on</Submit>
      </Form>
    </section>
  </>
);

const RecoveryCodes = ({ codes }: { codes: string[] }) => (
  <>
    <p>
      Each lets you log in once without the app. Keep them in a safe place: they will not be shown
      again.
    </p>
    <Copy lines text={codes.join("\n")} label="Copy codes" />
  </>
);

const secretOf = (uri: string): string =>
  (URL.canParse(uri) && new URL(uri).searchParams.get("secret")) || "";

/** Dark modules as one path. White is drawn as well: scanners need it in dark mode. */
function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 2 });
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")))
    .join("");
  return (
    <svg
      viewBox={`0 0 ${size} ${size}`}
      width="220"
      height="220"
      shape-rendering="crispEdges"
      role="img"
      aria-label="QR code for the authenticator app"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}

/** The part of the page Security that says whether there is an app. */
export const AuthenticatorApp = ({ isOn }: { isOn: boolean }) => (
  <section aria-labelledby="app-title">
    <h2 id="app-title">{TITLE}</h2>
    <p class="hint">
      {isOn
        ? "Logins with your password need a code of your app."
        : "A second factor for logins with your password: a code that an app shows."}
    </p>
    <a class="button quiet" href={ADDRESS}>
      {isOn ? "Manage" : "Set up"}
    </a>
  </section>
);
