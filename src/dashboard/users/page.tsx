/** The page of all users of the deployment and of invitations, for operators. */
import type { Settings } from "../../env.ts";
import { createInvitation } from "../../protocol/sign-in.ts";
import { parse } from "../../routes/router.ts";
import {
  CIRCLES,
  type Circle,
  listPeople,
  type Person,
  searchPeople,
} from "../../services/accounts/people.ts";
import type { Page } from "../../services/pagination.ts";
import {
  invite,
  listOpenInvitations,
  withdrawInvitation,
} from "../../services/sign-in/invitations.ts";
import { requireOperator, viewerOf } from "../access.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { type Draft, emptyDraft, handleForm, MAX_QUERY, pickFields } from "../form.ts";
import { Submit } from "../ui/fields.tsx";
import { Empty, Pager, Tabs, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { type Invitation, Invite, NewLink, OpenInvitations } from "./invitations.tsx";

const SIGN_UP = {
  open: "Anyone can create an account.",
  invitation: "New accounts require an invitation.",
  closed: "Sign-up is closed. Invitations can only reset passwords.",
} as const;

const CIRCLE_TABS: [string, string][] = [
  ["/users", "All"],
  ["/users?show=operators", "Operators"],
  ["/users?show=suspended", "Suspended"],
];

export const UsersPage = ({
  draft,
  link,
  invitations,
  circle,
  query,
  people,
  signUp,
}: {
  draft: Draft;
  link: string | undefined;
  invitations: Invitation[];
  circle: Circle;
  query: string;
  people: Page<Person>;
  signUp: Settings["signUp"];
}) => (
  <>
    <h1>Users</h1>
    <p>
      {SIGN_UP[signUp]} <a href="/look-up">Look up a prediction by ID</a>
    </p>
    {link !== undefined && <NewLink link={link} title="Share this invitation link" />}
    <Invite draft={draft} />
    <Tabs
      label="Users"
      current={circle === "everybody" ? "/users" : `/users?show=${circle}`}
      tabs={CIRCLE_TABS}
    />
    {circle === "everybody" && <Search query={query} />}
    {circle === "operators" && (
      <p class="hint">
        Operators manage this deployment. Make a user an operator, or demote one, on the user’s
        page.
      </p>
    )}
    {people.items.length === 0 ? (
      <Nobody circle={circle} query={query} />
    ) : (
      <PeopleTable people={people.items} />
    )}
    <Pager previous={people.previous_url} next={people.next_url} />
    <OpenInvitations invitations={invitations} />
  </>
);

const Search = ({ query }: { query: string }) => (
  <search>
    <form method="get" action="/users" class="bar filter-bar">
      <input
        name="q"
        type="search"
        value={query}
        maxlength={50}
        aria-label="Search users"
        placeholder="Username or name"
      />
      <Submit kind="quiet">Search</Submit>
    </form>
  </search>
);

function Nobody({ circle, query }: { circle: Circle; query: string }) {
  if (query !== "")
    return (
      <Empty title="No users found">
        <p>
          Search matches the start of a username or name. <a href="/users">Show all users</a>
        </p>
      </Empty>
    );
  return circle === "suspended" ? (
    <Empty title="No suspended accounts">
      <p>To suspend an account, open its user.</p>
    </Empty>
  ) : (
    <Empty title="No users">
      <p>
        <a href="/users">Show all users</a>
      </p>
    </Empty>
  );
}

const PeopleTable = ({ people }: { people: Person[] }) => (
  <div class="scroll">
    <Table
      class="people stacked linked"
      aria-label="Users"
      columns={["User", "Joined", "Last seen", { name: "Models", is: "number" }, "Role"]}
    >
      {people.map((person) => (
        <tr>
          <th scope="row">
            <a href={`/users/${person.username}`}>{person.username}</a>
            {person.name !== "" && (
              <small>
                <bdi>{person.name}</bdi>
              </small>
            )}
          </th>
          <td data-label="Joined">
            <Time at={person.created_at} />
          </td>
          <td data-label="Last seen">
            <Time at={person.seen_at} />
          </td>
          <td class="number" data-label="Models">
            {person.models}
          </td>
          <td>
            <AccountState person={person} />
          </td>
        </tr>
      ))}
    </Table>
  </div>
);

export const AccountState = ({ person: { operator, suspended_at } }: { person: Person }) => (
  <>
    {operator && <span class="badge">operator</span>}
    {suspended_at !== null && (
      <>
        <span class="status warning">suspended</span>{" "}
        <small>
          since <Time at={suspended_at} />
        </small>
      </>
    )}
  </>
);

const PAGE_SIZE = 50;

/** Returns the link of a new invitation: the fragment after # is in no log. */
export const linkOf = (c: PageContext, token: string) =>
  `${c.var.origin}/sign-up#invitation=${token}`;

export const userPages = pages()
  .get("/users", requireOperator, (c) => show(c, emptyDraft))
  .post("/users/invitations", requireOperator, async (c) => {
    const { done: token, draft } = await handleForm(c, async (form) =>
      invite(
        c.var.services,
        viewerOf(c).user.id,
        parse(createInvitation, pickFields(form, "note", "username"), "body"),
      ),
    );
    if (draft) return show(c, draft);
    return show(c, emptyDraft, linkOf(c, token));
  })
  .post("/users/invitations/:id/withdraw", requireOperator, async (c) => {
    await withdrawInvitation(c.var.services, c.req.param("id"));
    return redirectWithFlash(c, "Invitation revoked.", "/users");
  });

/** @param link of a new invitation, shown only once */
async function show(c: PageContext, draft: Draft, link?: string) {
  const { services } = c.var;
  const circle = CIRCLES.find((name) => name === c.req.query("show")) ?? "everybody";
  const query = circle === "everybody" ? (c.req.query("q")?.trim().slice(0, MAX_QUERY) ?? "") : "";
  // Links to the pages of the list lead to the page itself, also after a form.
  const url = new URL("/users", c.var.origin);
  url.search = new URL(c.req.url).search;
  const request = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url: url.href };
  const [invitations, people] = await Promise.all([
    listOpenInvitations(services),
    query === "" ? listPeople(services, circle, request) : searchPeople(services, query, request),
  ]);
  const page = (
    <UsersPage
      draft={draft}
      link={link}
      invitations={invitations}
      circle={circle}
      query={query}
      people={people}
      signUp={services.settings.signUp}
    />
  );
  return c.render(page, { title: "Users" });
}
