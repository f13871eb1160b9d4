/** Users of the dashboard, with valid, expired and ended sessions. */
import { env } from "cloudflare:workers";
import type { Role } from "../../../src/protocol/organization.ts";
import { Client } from "./client.ts";
import { lapse, setRole } from "./organizations.ts";
import { insertToken } from "./rows.ts";
import { PASSWORD, signedUp, signedUpOperator, Visitor } from "./visitor.ts";
import { unique } from "./world.ts";

/** `expires_at` of expired sessions. */
export const EXPIRED = 1;

export interface DashboardUser {
  visitor: Visitor;
  username: string;
  user_id: string;
  email: string;
  /** The client has a token with all scopes. */
  client: Client;
}

export const newDashboardUser = async (): Promise<DashboardUser> => withClient(await signedUp());

export const newOperator = async (): Promise<DashboardUser> =>
  withClient(await signedUpOperator(env.OPERATOR_TOKEN));

async function withClient(person: Awaited<ReturnType<typeof signedUp>>): Promise<DashboardUser> {
  const { user_id, token } = await insertToken(person.username);
  return { ...person, user_id, client: new Client(token) };
}

/** An organization, and a person in each role, each with a browser on its pages. */
export interface DashboardOrganization {
  /** An owner who acts for the organization, with a token of the organization. */
  account: DashboardUser;
  visitors: Record<Role, Visitor>;
  outsider: Visitor;
  removed: Visitor;
  /** A member by a group, whose last login with it is too long ago. */
  lapsed: Visitor;
}

export async function newDashboardOrganization(): Promise<DashboardOrganization> {
  const owner = await newDashboardUser();
  const username = unique("org");
  const { id: user_id } = await owner.client.ok<{ id: string }>("POST", "/v1/organizations", {
    username,
  });
  const base = `/organizations/${username}`;
  const service = { name: "service", service_role: "owner", scopes: ["read", "write", "predict"] };
  const { token } = await owner.client.ok<{ token: string }>("POST", `/v1${base}/tokens`, service);
  const join = async (role: Role | undefined) => {
    const person = await newDashboardUser();
    await setRole({ user_id }, person, role);
    return copyVisitor(person.visitor, undefined, base);
  };
  const visitor = copyVisitor(owner.visitor, undefined, base);
  const lapsed = await newDashboardUser();
  await setRole({ user_id }, lapsed, "admin");
  await lapsed.visitor.look(base);
  await lapse({ user_id }, lapsed);
  const removed = await newDashboardUser();
  await setRole({ user_id }, removed, "admin");
  await removed.visitor.look(base);
  await setRole({ user_id }, removed, undefined);
  return {
    account: { visitor, username, user_id, email: owner.email, client: new Client(token) },
    visitors: {
      member: await join("member"),
      developer: await join("developer"),
      admin: await join("admin"),
      owner: visitor,
    },
    outsider: await join(undefined),
    removed: copyVisitor(removed.visitor, undefined, base),
    lapsed: copyVisitor(lapsed.visitor, undefined, base),
  };
}

/** Returns a copy of the browser, so that a test does not change the original. */
export function copyVisitor(
  { cookies, formToken, base }: Visitor,
  token = formToken,
  account = base,
): Visitor {
  const copy = new Visitor(undefined, account);
  for (const [name, value] of cookies) copy.cookies.set(name, value);
  copy.formToken = token;
  return copy;
}

/** Logs in again, for another session of the same user. */
export async function signInAgain({ email }: DashboardUser): Promise<Visitor> {
  const visitor = new Visitor();
  const { status } = await visitor.send("/sign-in", { email, password: PASSWORD });
  if (status !== 303) throw new Error(`login answered ${status}`);
  await visitor.look("/");
  return visitor;
}

/** Sessions of a user that are no longer valid, with their cookies and form tokens. */
export interface EndedSessions {
  signedOut: Visitor;
  /** An expired session is deleted when it is used, so `expired` restores it each time. */
  expired: () => Promise<Visitor>;
}

export async function newEndedSessions(person: DashboardUser): Promise<EndedSessions> {
  const leaving = await signInAgain(person);
  const signedOut = copyVisitor(leaving);
  await leaving.send("/sign-out");
  const visitor = await signInAgain(person);
  const row = await env.DB.prepare(
    "SELECT * FROM sessions WHERE user_id = ? ORDER BY rowid DESC LIMIT 1",
  )
    .bind(person.user_id)
    .first();
  const columns = Object.entries({ ...row, expires_at: EXPIRED });
  const insert = env.DB.prepare(
    `INSERT OR REPLACE INTO sessions (${columns.map(([name]) => name)}) VALUES (${columns.map(() => "?")})`,
  ).bind(...columns.map(([, value]) => value));
  return { signedOut, expired: () => insert.run().then(() => copyVisitor(visitor)) };
}
