/** Those who come to the dashboard with a session that is good, and those whose is not. */
import { env } from "cloudflare:workers";
import type { Client } from "./client.ts";
import { PASSWORD, signedUp, signedUpOperator, Visitor } from "./visitor.ts";
import { newClient } from "./world.ts";

/** When it ended, in the rows of sessions that did. */
export const EXPIRED = 1;

export interface Person {
  visitor: Visitor;
  username: string;
  user_id: string;
  email: string;
  /** With a token for everything. */
  client: Client;
}

export const newPerson = async (): Promise<Person> => withClient(await signedUp());

export const newOperator = async (): Promise<Person> =>
  withClient(await signedUpOperator(env.OPERATOR_TOKEN));

async function withClient(person: Awaited<ReturnType<typeof signedUp>>): Promise<Person> {
  const client = await newClient(person.username);
  const { id: user_id } = await client.ok<{ id: string }>("GET", "/v1/user");
  return { ...person, user_id, client };
}

/** The same browser, which nothing that it is used for changes. */
export function like({ cookies, formToken }: Visitor, token = formToken): Visitor {
  const copy = new Visitor();
  for (const [name, value] of cookies) copy.cookies.set(name, value);
  copy.formToken = token;
  return copy;
}

/** Another session of the same person. */
export async function signedInAgain({ email }: Person): Promise<Visitor> {
  const visitor = new Visitor();
  const { status } = await visitor.send("/sign-in", { email, password: PASSWORD });
  if (status !== 303) throw new Error(`sign-in answered ${status}`);
  await visitor.look("/");
  return visitor;
}

/** Sessions of a person that are none any more, with their cookies and form tokens as they were. */
export interface Stale {
  signedOut: Visitor;
  /** It is forgotten when somebody comes with it, and so put back each time. */
  expired: () => Promise<Visitor>;
}

export async function staleOf(person: Person): Promise<Stale> {
  const leaving = await signedInAgain(person);
  const signedOut = like(leaving);
  await leaving.send("/sign-out");
  const visitor = await signedInAgain(person);
  const row = await env.DB.prepare(
    "SELECT * FROM sessions WHERE user_id = ? ORDER BY rowid DESC LIMIT 1",
  )
    .bind(person.user_id)
    .first();
  const columns = Object.entries({ ...row, expires_at: EXPIRED });
  const insert = env.DB.prepare(
    `INSERT OR REPLACE INTO sessions (${columns.map(([name]) => name)}) VALUES (${columns.map(() => "?")})`,
  ).bind(...columns.map(([, value]) => value));
  return { signedOut, expired: () => insert.run().then(() => like(visitor)) };
}
