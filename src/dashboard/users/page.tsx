/** Who may come in, and the links that let them. */
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

interface Somebody {
  id: string;
  username: string;
  name: string;
}

const SIGN_UP = {
  open: "Everybody may make an account (SIGN_UP is open).",
  invitation: "New accounts are by invitation (SIGN_UP is invitation).",
  closed: "Nobody may make an account (SIGN_UP is closed); invitations are for new passwords only.",
} as const;

export const PeoplePage = ({
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
  operators: Somebody[];
  suspended: (Somebody & { suspended_at: number | null })[];
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
        <Problem draft={drafts.invitation} />
        <TextField
          name="note"
          label="For whom"
          maxlength={100}
          required
          draft={drafts.invitation}
        />
        <TextField
          name="username"
          label="An existing user"
          hint="Their username. For a user made over the API who is to sign in here, or one who has lost the password: they are told who made the link."
          draft={drafts.invitation}
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
    <section aria-labelledby="operators-title">
      <h2 id="operators-title">Operators</h2>
      <p class="hint">
        Whoever has proved at <a href="/set-up">/set-up</a> to hold the present OPERATOR_TOKEN. With
        another token all of them have to prove it again.
      </p>
      <People
        label="Operators"
        people={operators}
        action={({ id, username }) => (
          <Form
            action={`/people/operators/${id}/demote`}
            data-confirm={`Demote ${username}? They are an operator again when they prove to hold OPERATOR_TOKEN.`}
          >
            <Submit kind="quiet">Demote</Submit>
          </Form>
        )}
      />
    </section>
    <section aria-labelledby="suspended-title">
      <h2 id="suspended-title">Suspended accounts</h2>
      {suspended.length === 0 ? (
        <p class="hint">There are none.</p>
      ) : (
        <People
          label="Suspended accounts"
          people={suspended}
          action={({ username }) => (
            <Form action={`/people/suspensions/${username}/end`}>
              <Submit kind="quiet">Give it back</Submit>
            </Form>
          )}
        />
      )}
      <Form action="/people/suspensions" class="narrow">
        <Problem draft={drafts.suspension} />
        <TextField
          name="suspend"
          label="Suspend an account"
          hint="Its username. Within ten seconds its tokens are refused and its sessions and streams end; what it runs is canceled. Models and files stay."
          autocomplete="off"
          required
          draft={drafts.suspension}
        />
        <Submit kind="danger">Suspend it</Submit>
      </Form>
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

const People = <Person extends Somebody>({
  label,
  people,
  action,
}: {
  label: string;
  people: Person[];
  action: (person: Person) => Child;
}) => (
  <div class="scroll">
    <table class="stacks" aria-label={label}>
      <thead>
        <tr>
          <th scope="col">Username</th>
          <th scope="col">Name</th>
          <th scope="col">
            <span class="unseen">Actions</span>
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
