/** Who may come in, and the links that let them. */
import type { Settings } from "../../env.ts";
import type { Draft } from "../form.ts";
import { Problem, Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Copy, Time } from "../ui/parts.tsx";

interface Invitation {
  id: string;
  note: string;
  username: string | null;
  recovers: boolean;
  expires_at: number;
}

const SIGN_UP = {
  open: "Everybody may make an account (SIGN_UP is open).",
  invitation: "New accounts are by invitation (SIGN_UP is invitation).",
  closed: "Nobody may make an account (SIGN_UP is closed); invitations are for new passwords only.",
} as const;

export const PeoplePage = ({
  draft,
  link,
  invitations,
  signUp,
}: {
  draft: Draft;
  link: string | undefined;
  invitations: Invitation[];
  signUp: Settings["signUp"];
}) => (
  <>
    <h1>People</h1>
    <p>{SIGN_UP[signUp]}</p>
    {link !== undefined && (
      <section class="shown-once" aria-labelledby="link-title">
        <h2 id="link-title">Give them this link</h2>
        <p>It is shown this once, works once, and for seven days.</p>
        <Copy text={link} label="Copy the link" />
      </section>
    )}
    <section aria-labelledby="invite-title">
      <h2 id="invite-title">Invite somebody</h2>
      <Form action="/people/invitations" class="narrow">
        <Problem draft={draft} />
        <TextField name="note" label="For whom" maxlength={100} required draft={draft} />
        <TextField
          name="username"
          label="An existing user"
          hint="For a user made over the API who is to sign in here, or one who has lost the password."
          draft={draft}
        />
        <Submit>Make the invitation</Submit>
      </Form>
    </section>
    <section aria-labelledby="open-title">
      <h2 id="open-title">Open invitations</h2>
      {invitations.length === 0 ? (
        <p class="hint">There are none.</p>
      ) : (
        <List invitations={invitations} />
      )}
    </section>
  </>
);

const List = ({ invitations }: { invitations: Invitation[] }) => (
  <div class="scroll">
    <table class="stacks">
      <thead>
        <tr>
          <th scope="col">For whom</th>
          <th scope="col">Becomes</th>
          <th scope="col">Ends</th>
          <th scope="col">
            <span class="unseen">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {invitations.map(({ id, note, username, recovers, expires_at }) => (
          <tr>
            <th scope="row">{note}</th>
            <td data-label="Becomes">
              {username ?? "a new user"}
              {recovers && ", with a new password"}
            </td>
            <td data-label="Ends">
              <Time at={expires_at} />
            </td>
            <td class="end">
              <Form action={`/people/invitations/${id}/withdraw`}>
                <Submit kind="quiet">Withdraw</Submit>
              </Form>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
