/** What giving up an account means, and the form that does it. */
import type { Draft } from "../form.ts";
import { Problem, Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
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
    <p>
      There is no way back, not for the operator either. Take along first what you want to keep.
    </p>
    <h2>At once</h2>
    <ul>
      <li>You are signed out everywhere, and nobody can sign in as {username} any more.</li>
      <li>Your access tokens are refused within ten seconds; what waits or runs is canceled.</li>
      <li>Nobody sees your profile or your models any more, or can run them.</li>
      <li>Your webhook endpoints are told nothing more.</li>
    </ul>
    <h2>Soon after</h2>
    <ul>
      <li>
        Inputs, outputs, logs and files of all your predictions are removed, and your uploads.
      </li>
      <li>So are your models with all versions and variables, your picture and your usage.</li>
    </ul>
    <h2>What stays</h2>
    <ul>
      <li>The username {username}, so that nobody else can take it and pass for you.</li>
      <li>Images in the registry, which is not ours: remove them there.</li>
      <li>What others made with your models: it is theirs.</li>
    </ul>
    <Form action="/account/delete" class="narrow last-words">
      <Problem draft={draft} />
      <TextField
        name="username"
        label={`Type ${username} to delete the account`}
        autocomplete="off"
        required
        draft={draft}
      />
      {withPassword ? (
        <TextField
          name="password"
          label="Your password"
          type="password"
          autocomplete="current-password"
          required
          draft={draft}
        />
      ) : (
        <p class="hint">You must have signed in within the last 15 minutes.</p>
      )}
      <Submit kind="danger">Delete my account for good</Submit>
    </Form>
  </>
);
