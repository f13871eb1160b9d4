/** The pages of organizations: the list, one organization, and an invitation. */
import { hasRole } from "../../domain/accounts/access.ts";
import {
  type Member,
  type Organization,
  type OrganizationInvitation,
  ROLES,
  type Role,
} from "../../protocol/organization.ts";
import { ownerName } from "../../protocol/user.ts";
import type { Page } from "../../services/pagination.ts";
import { organizationAddress } from "../addresses.ts";
import { BudgetList } from "../budgets/list.tsx";
import { ofMember, type ShownBudgets } from "../budgets/read.ts";
import { type Draft, MAX_QUERY } from "../form.ts";
import { Problem, Select, Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Copy, Empty, Pager, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { AccountTabs } from "../ui/tabs.tsx";

const AT = "/organizations";

const ROLE_TEXTS: Record<Role, string> = {
  member: "Run private models, see own runs",
  developer: "See all runs, change models",
  admin: "Manage members and service tokens",
  owner: "Appoint owners, rename, delete",
};

/** @param most the highest role that is offered */
export const roleOptions = (most: Role) =>
  ROLES.filter((role) => hasRole({ role: most }, role)).map((role) => ({
    value: role,
    label: `${role}: ${ROLE_TEXTS[role]}`,
  }));

export const OrganizationsPage = ({
  organizations,
  draft,
}: {
  organizations: Organization[];
  draft: Draft;
}) => (
  <>
    <h1>Organizations</h1>
    <p>
      An organization is an account that several people share: it has its own models, tokens, usage
      and limits. <a href="/docs/teams">About teams</a>
    </p>
    {organizations.length === 0 ? (
      <Empty title="No organizations yet">
        <p>Create one below, or ask its admin for an invitation link.</p>
      </Empty>
    ) : (
      <ul class="rows">
        {organizations.map(({ username, name, role }) => (
          <li>
            <div>
              <a href={`${AT}/${username}`}>{username}</a> {name && <bdi>{name}</bdi>}
            </div>
            <small>{role}</small>
          </li>
        ))}
      </ul>
    )}
    <h2>New organization</h2>
    <Form action={AT} class="narrow" draft={draft}>
      <TextField
        name="username"
        label="Username"
        hint="The first part of the names of its models, such as acme/story."
        maxlength={63}
        autocomplete="off"
        required
      />
      <TextField name="name" label="Name" maxlength={100} autocomplete="off" />
      <Submit>Create organization</Submit>
    </Form>
  </>
);

export interface PageProps {
  /** The username of the organization. */
  organization: string;
  /** The viewer's. */
  role: Role;
}

export const MembersPage = ({
  organization,
  role,
  members,
  query,
  invitations,
  invited,
  draft,
  refusal,
  self,
  budgets,
}: PageProps & {
  members: Page<Member>;
  /** Part of the usernames and names that were searched; empty for all. */
  query: string;
  /** Undefined for a role below admin. */
  invitations: OrganizationInvitation[] | undefined;
  /** The link of the invitation that was just created, shown once. */
  invited: string | undefined;
  draft: Draft;
  /** A change of a member that was refused. */
  refusal: Draft;
  /** The viewer's own username. */
  self: string;
  budgets: ShownBudgets;
}) => {
  const at = organizationAddress({ username: organization });
  return (
    <>
      <h1>Members of {organization}</h1>
      <p>
        Your role: <strong>{role}</strong>. <a href="/docs/teams#roles">What each role can do</a>
      </p>
      <Problem draft={refusal} />
      <search>
        <form method="get" action={`${at}/members`} class="bar filter-bar">
          <input
            name="q"
            type="search"
            value={query}
            maxlength={MAX_QUERY}
            aria-label="Search members"
            placeholder="Username or name"
            autocapitalize="none"
            autocomplete="off"
          />
          <Submit kind="quiet">Search</Submit>
        </form>
      </search>
      {members.items.length === 0 ? (
        <Empty title="No members found">
          <p>
            <a href={`${at}/members`}>Show all members</a>
          </p>
        </Empty>
      ) : (
        <Members {...{ at, role, self, budgets }} members={members.items} />
      )}
      <Pager previous={members.previous_url} next={members.next_url} />
      {invitations && (
        <Invitations
          at={at}
          role={role}
          invitations={invitations}
          created={invited}
          draft={draft}
        />
      )}
    </>
  );
};

export const DeletionPage = ({ organization, draft }: { organization: string; draft: Draft }) => (
  <>
    <h1>Danger zone</h1>
    <AccountTabs current="/account/delete" />
    <h2>Delete {organization}</h2>
    <p>
      This is permanent. Operators cannot restore it. <a href="/account/data">Export its data</a>{" "}
      first.
    </p>
    <ul>
      <li>Its access tokens stop working within 10 seconds, and its predictions are canceled.</li>
      <li>Its models, images, files and usage are deleted within days.</li>
      <li>Its members keep their own accounts.</li>
      <li>The username {organization} is kept, so no one else can take it.</li>
    </ul>
    <Form
      action={`${organizationAddress({ username: organization })}/delete`}
      class="narrow spaced"
      draft={draft}
    >
      <TextField
        name="confirm"
        label={`Type ${organization} to confirm`}
        autocomplete="off"
        required
      />
      <Submit kind="danger">Delete organization</Submit>
    </Form>
  </>
);

const Members = ({
  at,
  members,
  role,
  self,
  budgets,
}: {
  at: string;
  members: Member[];
  role: Role;
  self: string;
  budgets: ShownBudgets;
}) => (
  <Table
    class="stacked"
    aria-label="Members"
    columns={["Username", "Role", "Budgets", "Joined", { name: "Actions", is: "hidden" }]}
  >
    {members.map((member) => {
      const username = ownerName(member.user);
      const isSelf = username === self;
      const mayManage = hasRole({ role }, member.role === "owner" ? "owner" : "admin");
      const question = isSelf
        ? "Leave this organization? Your tokens for it end."
        : `Remove ${username}? Their tokens for this organization end within 10 seconds.`;
      return (
        <tr>
          <th scope="row">{username}</th>
          <td data-label="Role">
            {mayManage ? (
              <Form action={`${at}/members/${username}`} class="line-up">
                <select name="role" aria-label={`Role of ${username}`}>
                  {roleOptions(role).map(({ value }) => (
                    <option value={value} selected={value === member.role}>
                      {value}
                    </option>
                  ))}
                </select>
                <button type="submit" class="quiet">
                  Change<span class="visually-hidden">{` the role of ${username}`}</span>
                </button>
              </Form>
            ) : (
              member.role
            )}
          </td>
          <td data-label="Budgets">
            <BudgetList {...ofMember(budgets, username)} />
            {(isSelf || hasRole({ role }, "admin")) && (
              <a href={`${at}/budgets/new?member=${username}`}>
                New budget<span class="visually-hidden">{` for ${username}`}</span>
              </a>
            )}
          </td>
          <td data-label="Joined">
            <Time at={member.created_at} />
            {member.lapses_at !== null && (
              <small>
                {" "}
                by a group; {Date.parse(member.lapses_at) > Date.now() ? "lapses" : "lapsed"}{" "}
                <Time at={member.lapses_at} />
              </small>
            )}
          </td>
          <td class="end">
            {(isSelf || mayManage) && (
              <Form action={`${at}/members/${username}/remove`} data-confirm={question}>
                <button type="submit" class="danger">
                  {isSelf ? "Leave" : "Remove"}
                  {!isSelf && <span class="visually-hidden">{` ${username}`}</span>}
                </button>
              </Form>
            )}
          </td>
        </tr>
      );
    })}
  </Table>
);

const Invitations = ({
  at,
  role,
  invitations,
  created,
  draft,
}: {
  at: string;
  role: Role;
  invitations: OrganizationInvitation[];
  created: string | undefined;
  draft: Draft;
}) => (
  <>
    <h2>Invitations</h2>
    {created && (
      <section class="panel new-secret" aria-labelledby="invited-title">
        <h3 id="invited-title">Your new invitation link</h3>
        <p>Send it to one person. It will not be shown again, and works for 7 days.</p>
        <Copy text={created} label="Copy link" />
      </section>
    )}
    {invitations.length > 0 && (
      <ul class="rows">
        {invitations.map(({ id, note, role: given, expires_at }) => (
          <li>
            <div>
              <bdi>{note || "Invitation"}</bdi>
              <small>
                {given}, expires <Time at={expires_at} />
              </small>
            </div>
            <Form action={`${at}/invitations/${id}/revoke`}>
              <button type="submit" class="quiet">
                Revoke<span class="visually-hidden">{` the invitation ${note}`}</span>
              </button>
            </Form>
          </li>
        ))}
      </ul>
    )}
    <Form action={`${at}/invitations`} class="narrow" draft={draft}>
      <Select name="role" label="Role" value="member" required options={roleOptions(role)} />
      <TextField
        name="note"
        label="Note"
        hint="For whom it is. Only admins see it."
        maxlength={100}
        autocomplete="off"
      />
      <Submit>Create invitation link</Submit>
    </Form>
  </>
);

interface JoinProps {
  /** The secret of the link. */
  invitation: string;
  organization: string;
  role: Role;
}

/** @param admits whether the invitation, or the deployment, lets a new person create an account */
export const VisitorJoinPage = ({
  invitation,
  organization,
  role,
  admits,
}: JoinProps & { admits: boolean }) => (
  <>
    <h1>Join {organization}</h1>
    <p>
      You are invited as <strong>{role}</strong>: {ROLE_TEXTS[role].toLowerCase()}.
    </p>
    <p class="flow actions">
      <a class="button primary" href={`/sign-in?next=/join/${invitation}`}>
        Log in to join
      </a>
    </p>
    {admits ? (
      <Form action="/sign-up/invitation">
        <input type="hidden" name="invitation" value={invitation} />
        <Submit kind="quiet">Create an account and join</Submit>
      </Form>
    ) : (
      <p class="hint">
        No account yet? Ask the operator of this deployment for one, then open this link again.
      </p>
    )}
  </>
);

export const JoinPage = ({ invitation, organization, role }: JoinProps) => (
  <>
    <h1>Join {organization}</h1>
    <p>
      You are invited as <strong>{role}</strong>: {ROLE_TEXTS[role].toLowerCase()}. Its admins see
      your username and what you run for the organization.
    </p>
    <Form action={`/join/${invitation}`}>
      <Submit>{`Join ${organization}`}</Submit>
    </Form>
  </>
);
