/** Invitations, operators and suspended accounts. */
import type { Child } from "hono/jsx";
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

export interface Drafts {
  invitation: Draft;
  suspension: Draft;
}

interface UserSummary {
  id: string;
  username: string;
  name: string;
}

const SIGN_UP = {
  open: "Anyone can create an account (SIGN_UP is open).",
  invitation: "New accounts require an invitation (SIGN_UP is invitation).",
  closed: "Sign-up is closed (SIGN_UP is closed). Invitations can only reset passwords.",
} as const;

export const UsersPage = ({
  drafts,
  link,
  invitations,
  operators,
  suspended,
  signUp,
}: {
  drafts: Drafts;
  link: string | undefined;
  invitations: Invitation[];
  operators: UserSummary[];
  suspended: (UserSummary & { suspended_at: number | null })[];
  signUp: Settings["signUp"];
}) => (
  <>
    <h1>Users</h1>
    <p>{SIGN_UP[signUp]}</p>
    {link !== undefined && (
      <section class="new-secret" aria-labelledby="link-title">
        <h2 id="link-title">Share this invitation link</h2>
        <p>It is shown only once, can be used once and expires in seven days.</p>
        <Copy text={link} label="Copy link" />
      </section>
    )}
    <section aria-labelledby="invite-title">
      <h2 id="invite-title">Invite a user</h2>
      <Form action="/users/invitations" class="narrow">
        <Problem draft={drafts.invitation} />
        <TextField
          name="note"
          label="Recipient"
          maxlength={100}
          required
          draft={drafts.invitation}
        />
        <TextField
          name="username"
          label="Existing user"
          hint="Username of someone who was created through the API and needs to sign in, or who lost their password. They see who created the link."
          draft={drafts.invitation}
        />
        <Submit>Create invitation</Submit>
      </Form>
    </section>
    <section aria-labelledby="open-title">
      <h2 id="open-title">Pending invitations</h2>
      {invitations.length === 0 ? (
        <p class="hint">No pending invitations.</p>
      ) : (
        <InvitationTable invitations={invitations} />
      )}
    </section>
    <section aria-labelledby="operators-title">
      <h2 id="operators-title">Operators</h2>
      <p class="hint">
        Users who confirmed the current OPERATOR_TOKEN at <a href="/set-up">/set-up</a>. When the
        token changes, they must confirm it again.
      </p>
      <UserTable
        label="Operators"
        people={operators}
        action={({ id, username }) => (
          <Form
            action={`/users/operators/${id}/demote`}
            data-confirm={`Demote ${username}? They can become an operator again with OPERATOR_TOKEN.`}
          >
            <Submit kind="quiet">Demote</Submit>
          </Form>
        )}
      />
    </section>
    <section aria-labelledby="suspended-title">
      <h2 id="suspended-title">Suspended accounts</h2>
      {suspended.length === 0 ? (
        <p class="hint">No suspended accounts.</p>
      ) : (
        <UserTable
          label="Suspended accounts"
          people={suspended}
          action={({ username }) => (
            <Form action={`/users/suspensions/${username}/end`}>
              <Submit kind="quiet">Restore</Submit>
            </Form>
          )}
        />
      )}
      <Form action="/users/suspensions" class="narrow">
        <Problem draft={drafts.suspension} />
        <TextField
          name="suspend"
          label="Account to suspend"
          hint="Its username. Within 10 seconds its tokens stop working, its sessions and streams end, and its predictions are canceled. Models and files are kept."
          autocomplete="off"
          required
          draft={drafts.suspension}
        />
        <Submit kind="danger">Suspend account</Submit>
      </Form>
    </section>
  </>
);

const InvitationTable = ({ invitations }: { invitations: Invitation[] }) => (
  <div class="scroll">
    <table class="stacked">
      <thead>
        <tr>
          <th scope="col">Recipient</th>
          <th scope="col">User</th>
          <th scope="col">Expires</th>
          <th scope="col">
            <span class="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {invitations.map(({ id, note, username, recovers, expires_at }) => (
          <tr>
            <th scope="row">{note}</th>
            <td data-label="User">
              {username ?? "New user"}
              {recovers && " (password reset)"}
            </td>
            <td data-label="Expires">
              <Time at={expires_at} />
            </td>
            <td class="end">
              <Form action={`/users/invitations/${id}/withdraw`}>
                <Submit kind="quiet">Revoke</Submit>
              </Form>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const UserTable = <Person extends UserSummary>({
  label,
  people,
  action,
}: {
  label: string;
  people: Person[];
  action: (person: Person) => Child;
}) => (
  <div class="scroll">
    <table class="stacked" aria-label={label}>
      <thead>
        <tr>
          <th scope="col">Username</th>
          <th scope="col">Name</th>
          <th scope="col">
            <span class="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {people.map((person) => (
          <tr>
            <th scope="row">{person.username}</th>
            <td data-label="Name">{person.name}</td>
            <td class="end">{action(person)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
