/** Organizations with members and their tokens, written as rows; and shares of models. */
import { env } from "cloudflare:workers";
import { tokenPrefix } from "../../../src/domain/accounts/token.ts";
import type { Collaborator, Role, ShareLevel } from "../../../src/protocol/organization.ts";
import { forgetTokens } from "../../../src/services/access/authentication.ts";
import type { Page } from "../../../src/services/pagination.ts";
import { run } from "./accounts.ts";
import type { Client } from "./client.ts";
import { newClient, newUser, newWorld, type World, type WorldOptions } from "./world.ts";

export interface Organization extends World {
  /** Adds a new person. @returns their token for the organization, and one of their own */
  join(role: Role): Promise<Person>;
  /** Creates a service token. */
  service(role: Role): Promise<Client>;
}

export interface Person {
  user_id: string;
  username: string;
  /** A token for the organization. */
  client: Client;
  /** A token of the person's own account. */
  own: Client;
}

/** Makes an organization that has what a world has. Its `client` may do everything. */
export async function newOrganization(options?: WorldOptions): Promise<Organization> {
  const world = await newWorld(options);
  await run("UPDATE users SET kind = 'organization' WHERE id = ?", world.user_id);
  await run("UPDATE tokens SET service_role = 'owner' WHERE user_id = ?", world.user_id);
  forgetTokens();
  return {
    ...world,
    join: async (role) => {
      const { client: own, ...person } = await newUser();
      await setRole(world, person, role);
      const client = await newClient(world.username);
      await run(
        "UPDATE tokens SET made_by = ?, service_role = NULL WHERE prefix = ?",
        person.user_id,
        prefixOf(client),
      );
      return { ...person, client, own };
    },
    service: async (role) => {
      const client = await newClient(world.username);
      await run("UPDATE tokens SET service_role = ? WHERE prefix = ?", role, prefixOf(client));
      return client;
    },
  };
}

const prefixOf = ({ token }: Client) => tokenPrefix(token ?? "");

type Account = Pick<World, "user_id">;

/** Gives a person a role in an organization, or removes them with undefined. */
export async function setRole(
  organization: Account,
  person: Account,
  role: Role | undefined,
): Promise<void> {
  const ids = [organization.user_id, person.user_id];
  const removing = "DELETE FROM members WHERE organization_id = ? AND user_id = ?";
  const adding = "INSERT OR REPLACE INTO members VALUES (?, ?, ?, 0, NULL)";
  await (role === undefined ? run(removing, ...ids) : run(adding, ...ids, role));
}

/** Makes a member one by a group whose last login is too long ago. */
export const lapse = (organization: Account, person: Account) =>
  run(
    "UPDATE members SET lapses_at = 1 WHERE organization_id = ? AND user_id = ?",
    organization.user_id,
    person.user_id,
  );

/** Shares a model with an account, or ends the share with undefined. */
export async function setShare(
  model: string,
  account: Account,
  level: ShareLevel | undefined,
): Promise<void> {
  const [owner, name] = model.split("/");
  const row = await env.DB.prepare(
    "SELECT m.id FROM models m JOIN users u ON u.id = owner_id WHERE username = ? AND m.name = ?",
  )
    .bind(owner, name)
    .first<{ id: string }>();
  const ids = [row?.id, account.user_id];
  const removing = "DELETE FROM collaborators WHERE model_id = ? AND account_id = ?";
  const adding = "INSERT OR REPLACE INTO collaborators VALUES (?, ?, ?, 0)";
  await (level === undefined ? run(removing, ...ids) : run(adding, ...ids, level));
}

export interface Named {
  username: string;
}

export const pathOf = (model: string, account = "") =>
  `/v1/models/${model}/collaborators${account && `/${account}`}`;

export const share = (by: Client, model: string, { username }: Named, level: ShareLevel) =>
  by.json<Collaborator & { detail: string }>("PUT", pathOf(model, username), { level });

export const unshare = (by: Client, model: string, { username }: Named) =>
  by.json<{ detail: string }>("DELETE", pathOf(model, username));

export const listed = async (by: Client, model: string) =>
  (await by.ok<Page<Collaborator>>("GET", pathOf(model))).items;

/** Makes an organization require a second factor of its members, or no more. */
export async function requireFactor({ user_id }: Account, required = true): Promise<void> {
  await run("UPDATE users SET requires_second_factor = ? WHERE id = ?", required, user_id);
  forgetTokens();
}

/** Gives a person a login with a passkey, as a second factor. */
export async function addPasskey({ user_id }: Account): Promise<void> {
  await run(
    `INSERT OR IGNORE INTO logins (id, name, email, email_verified, created_at, updated_at)
      VALUES (?1, '', ?1 || '@a.test', 1, 0, 0)`,
    user_id,
  );
  await run(
    `INSERT INTO passkeys (id, user_id, public_key, credential_id, counter, device_type, backed_up)
      VALUES (?1, ?2, '', ?1, 0, '', 0)`,
    crypto.randomUUID(),
    user_id,
  );
}
