/** What deleting an account does, and its form. */
import type { Draft } from "../form.ts";
import { Problem, Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { ExportSection } from "./export.tsx";
import { AccountTabs } from "./tabs.tsx";

export const DeletePage = ({
  username,
  withPassword,
  draft,
}: {
  username: string;
  withPassword: boolean;
  draft: Draft;
}) => (
  <>
    <h1>Delete your account</h1>
    <AccountTabs current="/account/delete" />
    <p>This cannot be undone, not even by an operator.</p>
    <ExportSection title="Keep a copy first" leaving />
    <h2>Immediately</h2>
    <ul>
      <li>You are signed out everywhere, and {username} can no longer sign in.</li>
      <li>
        Your access tokens stop working within 10 seconds, and your unfinished predictions are
        canceled.
      </li>
      <li>Your profile and models are hidden, and nobody can run your models.</li>
      <li>Your webhook endpoints receive no more events.</li>
    </ul>
    <h2>Soon after</h2>
    <ul>
      <li>
        The inputs, outputs, logs and files of your predictions are deleted, and so are your
        uploads.
      </li>
      <li>
        Your models with their versions and variables, your picture and your usage are deleted.
      </li>
      <li>
        The <a href="/account/images">images</a> that you pushed are deleted within days:
        predictions of your public models that others started may still need them.
      </li>
    </ul>
    <h2>What is kept</h2>
    <ul>
      <li>The username {username}, so that nobody else can take it and impersonate you.</li>
      <li>Images of your models that lie in another registry. Delete them there.</li>
      <li>Predictions that others made with your models.</li>
    </ul>
    <Form action="/account/delete" class="narrow delete-form">
      <Problem draft={draft} />
      <TextField
        name="username"
        label={`Type ${username} to confirm`}
        autocomplete="off"
        required
        draft={draft}
      />
      {withPassword ? (
        <TextField
          name="password"
          label="Password"
          type="password"
          autocomplete="current-password"
          required
          draft={draft}
        />
      ) : (
        <p class="hint">You must have signed in within the last 15 minutes.</p>
      )}
      <Submit kind="danger">Delete account</Submit>
    </Form>
  </>
);
