/** `/users/{username}`, for operators: a user, with actions. */
import type { PropsWithChildren } from "hono/jsx";
import { notFound } from "../../errors/errors.ts";
import { getUser } from "../../services/access/accounts.ts";
import { operatorOf } from "../../services/accounts/budgets.ts";
import { releaseFormerUsername } from "../../services/accounts/people.ts";
import { type PersonView, viewPerson } from "../../services/accounts/person-view.ts";
import { restoreAccount, suspendAccount } from "../../services/accounts/suspension.ts";
import { revokeOwnToken } from "../../services/accounts/tokens.ts";
import { grantsOf } from "../../services/deployments/grants.ts";
import { listAllHardware } from "../../services/runners/hardware.ts";
import { invite } from "../../services/sign-in/invitations.ts";
import { appointOperator, demoteOperator } from "../../services/sign-in/operators.ts";
import { requireOperator, viewerOf } from "../access.ts";
import { Storage, Totals } from "../account/totals.tsx";
import { Budgets } from "../budgets/section.tsx";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { type Draft, emptyDraft, fieldText, handleForm, readForm } from "../form.ts";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Above, Fact, Time } from "../ui/parts.tsx";
import { type Capacity, CapacitySection, grantCapacity } from "./capacity.tsx";
import { NewLink } from "./invitations.tsx";
import { AccountState, linkOf } from "./page.tsx";
import { Models, Predictions, Tokens } from "./person-tables.tsx";

const Action = ({ title, text, children }: PropsWithChildren<{ title: string; text: string }>) => (
  <li>
    <div>
      <strong>{title}</strong>
      <small>{text}</small>
    </div>
    {children}
  </li>
);

const PersonActions = ({
  view: { person, canSignIn, formerUsernames },
  isOneself,
}: {
  view: PersonView;
  isOneself: boolean;
}) => {
  const { username, kind, operator, suspended_at } = person;
  const at = `/users/${username}`;
  return (
    <section aria-labelledby="actions-title">
      <h2 id="actions-title">Actions</h2>
      <ul class="rows deeds">
        <Action
          title={canSignIn ? "Recovery link" : "Login link"}
          text={
            canSignIn
              ? "For a user who lost their password. Setting a new one ends all sessions, and removes all passkeys and the authenticator app. The user sees that an operator created the link."
              : "For a user created through the API, to set an email address and a password."
          }
        >
          <Form action={`${at}/recovery`}>
            <Submit kind="quiet">Create link</Submit>
          </Form>
        </Action>
        {kind === "user" && !operator && suspended_at === null && (
          <Action
            title="Make operator"
            text="Operators manage users, the fleet and other operators, and see who runs which model."
          >
            <Form
              action={`${at}/appoint`}
              data-confirm={`Make ${username} an operator? They can then manage all users and the fleet.`}
            >
              <Submit kind="quiet">Make operator</Submit>
            </Form>
          </Action>
        )}
        {operator && (
          <Action
            title="Demote"
            text="Removes operator access and closes the invitations that the user made. Their tokens with the scope operator lose it within 10 seconds."
          >
            <Form
              action={`${at}/demote`}
              data-confirm={`Demote ${username}? Another operator can make them one again.`}
            >
              <Submit kind="quiet">Demote</Submit>
            </Form>
          </Action>
        )}
        {formerUsernames.map((former) => (
          <Action
            title={`Release ${former}`}
            text={`A former username, reserved for this user. After release, anyone can take it and receive its links.`}
          >
            <Form
              action={`${at}/usernames/${former}/release`}
              data-confirm={`Release ${former}? Anyone can then take it.`}
            >
              <Submit kind="quiet">Release</Submit>
            </Form>
          </Action>
        ))}
        {suspended_at === null ? (
          <Suspend username={username} isOneself={isOneself} />
        ) : (
          <Action
            title="Restore account"
            text="Restores login and access tokens. Canceled predictions and operator access are not restored."
          >
            <Form action={`${at}/restore`}>
              <Submit kind="quiet">Restore account</Submit>
            </Form>
          </Action>
        )}
      </ul>
    </section>
  );
};

const Suspend = ({ username, isOneself }: { username: string; isOneself: boolean }) => (
  <Action
    title="Suspend account"
    text="Within 10 seconds, tokens stop working, sessions and streams end, and predictions are canceled. Operator access is removed. Models and files are kept. You can restore the account later."
  >
    {isOneself ? (
      <small>You cannot suspend your own account.</small>
    ) : (
      <Form
        action={`/users/${username}/suspend`}
        data-confirm={`Suspend ${username}? Their tokens stop working and their predictions are canceled.`}
      >
        <label class="choice">
          <input type="checkbox" name="models" value="hide" />
          <span>Make its models private</span>
        </label>
        <Submit kind="danger">Suspend account</Submit>
      </Form>
    )}
  </Action>
);

const PersonPage = ({
  view,
  capacity,
  draft,
  isOneself,
  link,
  now,
}: {
  view: PersonView;
  capacity: Capacity;
  /** The form of a grant. */
  draft: Draft;
  isOneself: boolean;
  /** A recovery link, shown only once. */
  link: string | undefined;
  now: number;
}) => {
  const { person, tokens, models, predictions } = view;
  return (
    <>
      <Above places={[["/users", "Users"]]} />
      <div class="bar spread title-row">
        <h1>{person.username}</h1>
        <p>
          <AccountState person={person} />
        </p>
      </div>
      {link !== undefined && <NewLink link={link} title="Share this link with its user only" />}
      <Facts view={view} />
      <p class="hint">
        Operators see runs and their status. Inputs, outputs, logs, files, variables and tokens stay
        private.
      </p>
      <Usage usage={view.usage} />
      <Storage storage={view.storage} />
      <Budgets
        manager={operatorOf(person.id)}
        budgets={view.budgets}
        at={`/users/${person.username}/budgets`}
      />
      <CapacitySection username={person.username} capacity={capacity} draft={draft} />
      <Predictions username={person.username} predictions={predictions} />
      <Tokens username={person.username} tokens={tokens} now={now} />
      <Models username={person.username} models={models} total={person.models} />
      <PersonActions view={view} isOneself={isOneself} />
    </>
  );
};

const Facts = ({ view: { person, canSignIn } }: { view: PersonView }) => (
  <dl class="figures facts">
    {person.name !== "" && (
      <Fact name="Name">
        <bdi>{person.name}</bdi>
      </Fact>
    )}
    <Fact name="Joined">
      <Time at={person.created_at} />
    </Fact>
    <Fact name="Last seen">
      <Time at={person.seen_at} />
    </Fact>
    <Fact name="Login">
      {person.suspended_at !== null ? "Suspended" : canSignIn ? "Enabled" : "API only"}
    </Fact>
  </dl>
);

const Usage = ({ usage }: Pick<PersonView, "usage">) => (
  <section aria-labelledby="usage-title">
    <h2 id="usage-title">Last 30 days</h2>
    {usage === undefined ? (
      <p class="hint">Usage is unavailable right now. Reload to try again.</p>
    ) : (
      <Totals {...usage} />
    )}
  </section>
);

const PAGE_SIZE = 25;

const ONE = "/users/:username";

const done = (c: PageContext, message: string) =>
  redirectWithFlash(c, message, `/users/${usernameIn(c)}`);

const usernameIn = (c: PageContext) => c.req.param("username") ?? "";

export const personPages = pages()
  .get(ONE, requireOperator, (c) => show(c, {}))
  .post(`${ONE}/capacity`, requireOperator, async (c) => {
    const { done: grant, draft } = await handleForm(c, (form) =>
      grantCapacity(c.var.services, usernameIn(c), form),
    );
    if (draft) return show(c, { draft });
    const containers = grant.instances === 1 ? "1 container" : `${grant.instances} containers`;
    const message = `The account may keep ${containers} of ${grant.hardware} running.`;
    return redirectWithFlash(c, message, `/users/${usernameIn(c)}#capacity`);
  })
  .post(`${ONE}/suspend`, requireOperator, async (c) => {
    const by = viewerOf(c).user.id;
    const models = fieldText(await readForm(c), "models") === "hide" ? "hide" : "keep";
    await suspendAccount(c.var.services, usernameIn(c), { models, by });
    return done(c, "Account suspended. Its predictions are canceled.");
  })
  .post(`${ONE}/restore`, requireOperator, async (c) => {
    await restoreAccount(c.var.services, usernameIn(c));
    return done(c, "Account restored.");
  })
  .post(`${ONE}/appoint`, requireOperator, async (c) => {
    await appointOperator(c.var.services, usernameIn(c));
    return done(c, "The user is now an operator.");
  })
  .post(`${ONE}/demote`, requireOperator, async (c) => {
    await demoteOperator(c.var.services, usernameIn(c));
    // Former operators can no longer open this page.
    if (usernameIn(c) === viewerOf(c).user.username)
      return redirectWithFlash(c, "You are no longer an operator.", "/");
    return done(c, "Operator demoted.");
  })
  .post(`${ONE}/recovery`, requireOperator, async (c) => {
    const username = usernameIn(c);
    const request = { note: username, username };
    const link = linkOf(c, await invite(c.var.services, viewerOf(c).user.id, request));
    return show(c, { link });
  })
  .post(`${ONE}/tokens/:id/revoke`, requireOperator, async (c) => {
    const { id } = await getUser(c.var.services, usernameIn(c));
    await revokeOwnToken(c.var.services, id, c.req.param("id") ?? "");
    return done(c, "Token revoked. It stops working within 10 seconds.");
  })
  .post(`${ONE}/usernames/:former/release`, requireOperator, async (c) => {
    const former = c.req.param("former") ?? "";
    await releaseFormerUsername(c.var.services, usernameIn(c), former);
    return done(c, `${former} released.`);
  });

/** @param link a recovery link, shown only once */
async function show(
  c: PageContext,
  { link, draft = emptyDraft }: { link?: string | undefined; draft?: Draft },
) {
  const { services, origin } = c.var;
  const username = usernameIn(c);
  if (username === "") throw notFound("This page");
  const url = new URL(`/users/${username}`, origin).href;
  const request = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url };
  const view = await viewPerson(services, username, request);
  const [grants, hardware] = await Promise.all([
    grantsOf(services, view.person.id),
    listAllHardware(services),
  ]);
  const page = (
    <PersonPage
      view={view}
      capacity={{ grants, hardware }}
      draft={draft}
      isOneself={view.person.id === viewerOf(c).user.id}
      link={link}
      now={Date.now()}
    />
  );
  return c.render(page, { title: username });
}
