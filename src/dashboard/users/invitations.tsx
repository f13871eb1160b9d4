/** Invitations: the form, the link that is shown once, and those that are open. */
import type { Draft } from "../form.ts";
import { Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Copy, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";

export interface Invitation {
  made_by: string;
  id: string;
  note: string;
  username: string | null;
  recovers: boolean;
  expires_at: number;
}

/** @param title the kind of the link */
export const NewLink = ({ link, title }: { link: string; title: string }) => (
  <section class="panel new-secret" aria-labelledby="link-title">
    <h2 id="link-title">{title}</h2>
    <p>Copy it now. It can be used once and expires in seven days.</p>
    <Copy text={link} label="Copy link" />
  </section>
);

export const Invite = ({ draft }: { draft: Draft }) => (
  <details class="new-token spaced" open={draft.values !== undefined}>
    <summary class="button primary">Invite a user</summary>
    <Form action="/users/invitations" class="narrow" id="invite" draft={draft}>
      <TextField
        name="note"
        label="Recipient"
        hint="Label. Visible to the invitee."
        maxlength={100}
        required
      />
      <TextField
        name="username"
        label="Existing user"
        hint="For a user created through the API, or one who lost their password. They see who created the link."
      />
      <Submit>Create invitation</Submit>
    </Form>
  </details>
);

export const OpenInvitations = ({ invitations }: { invitations: Invitation[] }) => (
  <section aria-labelledby="open-title">
    <h2 id="open-title">Pending invitations</h2>
    {invitations.length === 0 ? (
      <p class="hint">No pending invitations.</p>
    ) : (
      <InvitationTable invitations={invitations} />
    )}
  </section>
);

const InvitationTable = ({ invitations }: { invitations: Invitation[] }) => (
  <div class="scroll">
    <Table
      class="stacked"
      aria-labelledby="open-title"
      columns={["Recipient", "User", "By", "Expires", { name: "Actions", is: "hidden" }]}
    >
      {invitations.map(({ id, note, username, made_by, recovers, expires_at }) => (
        <tr>
          <th scope="row">
            <bdi>{note}</bdi>
          </th>
          <td data-label="User">
            {username ?? "New user"}
            {recovers && " (password reset)"}
          </td>
          <td data-label="By">{made_by}</td>
          <td data-label="Expires">
            <Time at={expires_at} />
          </td>
          <td class="end">
            <Form
              action={`/users/invitations/${id}/withdraw`}
              data-confirm="Revoke this invitation? Its link stops working."
            >
              <button type="submit" class="quiet" aria-label={`Revoke the invitation of ${note}`}>
                Revoke
              </button>
            </Form>
          </td>
        </tr>
      ))}
    </Table>
  </div>
);
