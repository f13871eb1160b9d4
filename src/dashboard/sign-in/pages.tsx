/** The pages of logging in, signing up and setting up. */
import type { PropsWithChildren } from "hono/jsx";
import { MIN_PASSWORD } from "../../protocol/sign-in.ts";
import type { Viewer } from "../context.ts";
import type { Draft } from "../form.ts";
import { Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";

const SignInLayout = ({ title, children }: PropsWithChildren<{ title: string }>) => (
  <div class="sign-in-box">
    <h1>{title}</h1>
    {children}
  </div>
);

const EmailField = () => (
  <TextField name="email" label="Email" type="email" autocomplete="username webauthn" required />
);

const NewPasswordField = () => (
  <TextField
    name="password"
    label="Password"
    type="password"
    autocomplete="new-password"
    hint={`At least ${MIN_PASSWORD} characters. A passphrase of several words is easy to remember.`}
    minlength={MIN_PASSWORD}
    required
  />
);

const UserFields = ({ name = "", username = "" }: { name?: string; username?: string }) => (
  <>
    <TextField
      name="username"
      label="Username"
      autocomplete="off"
      hint="Part of your models’ addresses (username/model). Lowercase letters and digits, separated by '.', '_' or '-'."
      value={username}
      required
    />
    <TextField name="name" label="Name" autocomplete="name" value={name} />
  </>
);

const NextField = ({ next }: { next: string }) => <input type="hidden" name="next" value={next} />;

/** The ways to log in that a page offers. */
export interface Ways {
  passwords: boolean;
  github: boolean;
  /** The name of the OpenID Connect provider. */
  oidc: string | undefined;
}

const CurrentPasswordField = () => (
  <TextField
    name="password"
    label="Password"
    type="password"
    autocomplete="current-password"
    required
  />
);

export const SignInPage = ({
  draft,
  next,
  ways,
  open,
}: {
  draft: Draft;
  next: string;
  ways: Ways;
  open: boolean;
}) => (
  <SignInLayout title="Log in">
    {ways.passwords ? (
      <Form action="/sign-in" draft={draft}>
        <NextField next={next} />
        <EmailField />
        <CurrentPasswordField />
        <Submit>Log in</Submit>
      </Form>
    ) : (
      <Elsewhere at="oidc" name={ways.oidc} next={next} kind="primary" draft={draft} />
    )}
    {ways.passwords && (
      <>
        <div class="stack spaced">
          {ways.oidc !== undefined && <Elsewhere at="oidc" name={ways.oidc} next={next} />}
          <button type="button" class="quiet" data-passkey={next} hidden>
            Log in with a passkey
          </button>
          {ways.github && <Elsewhere at="github" name="GitHub" next={next} />}
          <p class="field-error" id="passkey-error" role="alert" hidden />
        </div>
        <p class="hint">
          {open ? (
            <>
              New here? <a href="/sign-up">Create an account</a>.
            </>
          ) : (
            "New here, or lost your password? Ask an operator for an invitation."
          )}
        </p>
      </>
    )}
  </SignInLayout>
);

export const SignInCodePage = ({ draft, next }: { draft: Draft; next: string }) => (
  <SignInLayout title="Enter a code">
    <Form action="/sign-in/code" draft={draft}>
      <NextField next={next} />
      <TextField
        name="code"
        label="Code"
        autocomplete="one-time-code"
        hint="The 6 digits that your authenticator app shows, or one of your recovery codes."
        maxlength={50}
        autofocus
        required
      />
      <Submit>Log in</Submit>
    </Form>
    <p class="hint">
      Lost both? Log in with a passkey, or ask an operator for a recovery link.{" "}
      <a href="/sign-in">Back to the login</a>
    </p>
  </SignInLayout>
);

const Elsewhere = ({
  at,
  name,
  next,
  kind = "quiet",
  draft,
}: {
  at: "github" | "oidc";
  name: string | undefined;
  next: string;
  kind?: "primary" | "quiet";
  draft?: Draft;
}) => (
  <Form action={`/sign-in/${at}`} {...(draft && { draft })}>
    <NextField next={next} />
    <Submit kind={kind}>Log in with {name}</Submit>
  </Form>
);

export const SignUpPage = ({
  draft,
  ways,
  invitation,
  invalid,
}: {
  draft: Draft;
  ways: Ways;
  /** `username` is set when the invitation is for an existing user. */
  invitation: { token: string; text: string; username: string | undefined } | undefined;
  invalid: boolean;
}) => (
  <SignInLayout title="Create an account">
    {invalid && <InvalidInvitation />}
    {invitation ? <p>{invitation.text}</p> : <InvitationForm />}
    {ways.passwords && (
      <Form action="/sign-up" draft={draft}>
        {invitation && <input type="hidden" name="invitation" value={invitation.token} />}
        {invitation?.username === undefined ? (
          <UserFields />
        ) : (
          <>
            <p>
              Your username will be <strong>{invitation.username}</strong>.
            </p>
            <input type="hidden" name="username" value={invitation.username} />
          </>
        )}
        <EmailField />
        <NewPasswordField />
        <Submit>Create account</Submit>
      </Form>
    )}
    <div class="stack spaced">
      {ways.oidc !== undefined && <Elsewhere at="oidc" name={ways.oidc} next="/" />}
      {ways.github && <Elsewhere at="github" name="GitHub" next="/" />}
    </div>
    <p class="hint">
      Already have an account? <a href="/sign-in">Log in</a>.
    </p>
  </SignInLayout>
);

/** The page of an invitation that resets the password of an existing login. */
export const RecoverPage = ({
  draft,
  token,
  username,
}: {
  draft: Draft;
  token: string;
  username: string;
}) => (
  <SignInLayout title="Choose a new password">
    <p>
      For <strong>{username}</strong>. All other sessions will be logged out.
    </p>
    <Form action="/sign-up" draft={draft}>
      <input type="hidden" name="invitation" value={token} />
      <NewPasswordField />
      <Submit>Save password</Submit>
    </Form>
  </SignInLayout>
);

/** Submits the token from the fragment of an invitation link; typed by hand without JavaScript. */
const InvitationForm = () => (
  <>
    <Form action="/sign-up/invitation" data-invitation hidden>
      <input type="hidden" name="invitation" />
    </Form>
    <noscript>
      <Form action="/sign-up/invitation">
        <TextField
          name="invitation"
          label="Invitation"
          autocomplete="off"
          hint="The part of your link after #invitation="
          required
        />
        <Submit kind="quiet">Open invitation</Submit>
      </Form>
    </noscript>
  </>
);

const InvalidInvitation = () => (
  <p class="problem" role="alert">
    This invitation is no longer valid: it was used, revoked, or expired after seven days. Ask an
    operator for a new one.
  </p>
);

export const SignedInPage = ({ viewer }: { viewer: Viewer }) => (
  <SignInLayout title="Create an account">
    <p>
      You are logged in as <strong>{viewer.user.username}</strong>. To accept an invitation, log out
      and open its link again.
    </p>
    <Form action="/sign-out">
      <Submit kind="quiet">Log out</Submit>
    </Form>
  </SignInLayout>
);

export const SignUpClosedPage = ({ closed, invalid }: { closed: boolean; invalid: boolean }) => (
  <SignInLayout title="Create an account">
    {invalid && <InvalidInvitation />}
    <p>
      {closed
        ? "Sign-up is closed on this deployment."
        : "You need an invitation to create an account. Open the link that an operator gave you. It can be used once and expires after seven days."}
    </p>
    <InvitationForm />
    <p>
      <a href="/sign-in">Log in</a>
    </p>
  </SignInLayout>
);

/** The first login with GitHub or OpenID Connect. */
export const WelcomePage = ({
  draft,
  ...user
}: {
  draft: Draft;
  name: string;
  username: string;
}) => (
  <SignInLayout title="Choose a username">
    <Form action="/welcome" draft={draft}>
      <UserFields {...user} />
      <Submit>Continue</Submit>
    </Form>
  </SignInLayout>
);

export const SetUpPage = ({
  draft,
  viewer,
  oidcOnly,
}: {
  draft: Draft;
  viewer: Viewer | undefined;
  oidcOnly: boolean;
}) => (
  <SignInLayout title="Set up this deployment">
    {viewer?.operator ? (
      <p>
        {viewer.user.username} is an operator. Next: <a href="/">the first steps</a> to add a runner
        and run a model.
      </p>
    ) : (
      <>
        <p>
          Enter this deployment’s operator token to become an operator. Operators manage the fleet
          and invite users, and make other users operators. Keep the token for the case that no
          operator can log in.
        </p>
        <Form action="/set-up" draft={draft}>
          <OperatorTokenField />
          {viewer ? (
            <p>
              <strong>{viewer.user.username}</strong> will become an operator.
            </p>
          ) : (
            <>
              <UserFields />
              <EmailField />
              <NewPasswordField />
              <p class="hint">
                Already have an account? <a href="/sign-in?next=/set-up">Log in</a> first.
              </p>
            </>
          )}
          <Submit>Set up</Submit>
        </Form>
        {oidcOnly && !viewer && <SetUpSignIn draft={draft} />}
      </>
    )}
  </SignInLayout>
);

const OperatorTokenField = () => (
  <TextField
    name="operator_token"
    label="Operator token"
    type="password"
    autocomplete="off"
    hint="The OPERATOR_TOKEN secret from when Auspex was deployed."
    required
  />
);

/** The way in with a password where the OpenID Connect provider is the only other one, and may be down. */
const SetUpSignIn = ({ draft }: { draft: Draft }) => (
  <section aria-labelledby="password-title">
    <h2 id="password-title">Log in with a password</h2>
    <p>For an account with a password, in case the login provider is unavailable.</p>
    <Form action="/set-up/sign-in" draft={draft}>
      <OperatorTokenField />
      <EmailField />
      <CurrentPasswordField />
      <Submit kind="quiet">Log in</Submit>
    </Form>
  </section>
);
