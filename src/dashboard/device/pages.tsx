/** The pages of a login from a terminal: the code, and what it gives access to. */
import { type OpenLogin, TOKEN_DAYS, tokenName } from "../../services/accounts/device-login.ts";
import type { Draft } from "../form.ts";
import { SCOPES } from "../tokens/new-token.tsx";
import { Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";

export const CodePage = ({ draft }: { draft: Draft }) => (
  <div class="sign-in-box">
    <h1>Log in from a terminal</h1>
    <Form action="/device" draft={draft}>
      <TextField
        name="user_code"
        label="Code"
        hint="The code that auspex login shows in your terminal, such as BCDF-GHJK."
        autocomplete="off"
        maxlength={20}
        autofocus
        required
      />
      <Submit>Continue</Submit>
    </Form>
  </div>
);

export const ConfirmPage = ({ code, name, username }: OpenLogin & { username: string }) => (
  <div class="measure">
    <h1>
      Log in from <bdi>{name}</bdi>?
    </h1>
    <p class="flash warning">
      Approve only if you ran <code>auspex login</code> yourself and your terminal shows this code.
      If someone sent you the code, deny it: they would get access to your account.
    </p>
    <dl class="details ruled pairs">
      <div>
        <dt>Code</dt>
        <dd class="mono strong">{code}</dd>
      </div>
      <div>
        <dt>Machine</dt>
        <dd>
          <bdi>{name}</bdi>, as it calls itself
        </dd>
      </div>
      <div>
        <dt>Account</dt>
        <dd>{username}</dd>
      </div>
      <div>
        <dt>Access</dt>
        <dd>
          {SCOPES.map(({ label, hint }) => (
            <div>
              <strong>{label}</strong>: {hint}
            </div>
          ))}
        </dd>
      </div>
      <div>
        <dt>Token</dt>
        <dd>
          <bdi>{tokenName(name)}</bdi>, for {TOKEN_DAYS} days. You can revoke it under{" "}
          <a href="/tokens">Access tokens</a>.
        </dd>
      </div>
    </dl>
    <Form action="/device/answer" class="flow spaced">
      <input type="hidden" name="user_code" value={code} />
      <button type="submit" class="primary" name="answer" value="approve">
        Approve
      </button>
      <button type="submit" class="quiet" name="answer" value="deny">
        Deny
      </button>
    </Form>
  </div>
);
