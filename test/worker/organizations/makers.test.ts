/** The maker of a prediction of an organization, which its members see and nobody else does. */
import { expect, test } from "vitest";
import { tokenPrefix } from "../../../src/domain/accounts/token.ts";
import type { PredictionWithIO } from "../../../src/protocol/prediction.ts";
import { createShare } from "../../../src/services/shares/shares.ts";
import { callerOf, run, services } from "../support/accounts.ts";
import { pageAt } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { nobody } from "../support/files.ts";
import { newOrganization } from "../support/organizations.ts";
import { newClient, newWorld } from "../support/world.ts";

const createdBy = async (client: Client, model: string) =>
  (await client.create({ model, input: {} })).body;

const listed = async (client: Client, query: string) =>
  (await pageAt<PredictionWithIO>(client, `/v1/predictions?${query}`)).items.map(({ id }) => id);

test("a prediction of an organization says which member or service token created it", async () => {
  const { model, join, service, client: owner } = await newOrganization();
  const [ada, eve, ci] = [await join("developer"), await join("member"), await service("member")];
  const first = await createdBy(ada.client, model);
  const second = await createdBy(eve.client, model);
  const third = await createdBy(ci, model);
  const name = await tokenName(ci);
  expect([first, second, third].map(({ created_by }) => created_by)).toEqual([
    ada.username,
    eve.username,
    name,
  ]);
  expect((await owner.get(second.id)).created_by).toBe(eve.username);
  await eventually(async () =>
    expect(await listed(owner, "")).toEqual([third.id, second.id, first.id]),
  );
  const { items } = await pageAt<PredictionWithIO>(owner, "/v1/predictions");
  expect(items.map(({ created_by }) => created_by)).toEqual([name, eve.username, ada.username]);
  expect(await listed(owner, `created_by=${ada.username}`)).toEqual([first.id]);
  expect(await listed(owner, `created_by=${encodeURIComponent(name)}`)).toEqual([third.id]);
  expect(await listed(owner, "created_by=nobody")).toEqual([]);
  // A member sees only their own, whatever they ask for.
  expect(await listed(eve.client, `created_by=${ada.username}`)).toEqual([]);
  expect(await listed(eve.client, `created_by=${eve.username}`)).toEqual([second.id]);
});

test("a filter by a member who was renamed finds what they created before", async () => {
  const { model, join, client } = await newOrganization();
  const ada = await join("developer");
  const { id } = await createdBy(ada.client, model);
  const renamed = `${ada.username}-2`;
  await run("UPDATE users SET username = ? WHERE id = ?", renamed, ada.user_id);
  await eventually(async () => expect(await listed(client, `created_by=${renamed}`)).toEqual([id]));
  expect(await listed(client, `created_by=${ada.username}`)).toEqual([id]);
});

test("a filter by a member finds nothing that the caller's token does not cover", async () => {
  const { model, join, username } = await newOrganization();
  const other = await newWorld({ visibility: "public" });
  const ada = await join("developer");
  const { id } = await createdBy(ada.client, model);
  await createdBy(ada.client, other.model);
  const limited = await newClient(username, { models: [model] });
  await run(
    "UPDATE tokens SET service_role = 'developer' WHERE prefix = ?",
    tokenPrefix(limited.token ?? ""),
  );
  await eventually(async () =>
    expect(await listed(limited, `created_by=${ada.username}`)).toEqual([id]),
  );
});

test("a prediction in a person's own account names nobody", async () => {
  const { client, model } = await newWorld();
  const { id, created_by } = await createdBy(client, model);
  expect(created_by).toBeNull();
  expect((await client.get(id)).created_by).toBeNull();
});

async function tokenName({ token }: Client): Promise<string> {
  const [row] = await run("SELECT name FROM tokens WHERE prefix = ?", tokenPrefix(token ?? ""));
  return String(row?.name);
}

test("a shared prediction and an example do not say who made them", async () => {
  const { model, join, runner, user_id } = await newOrganization({ visibility: "public" });
  const ada = await join("developer");
  const { id } = await createdBy(ada.client, model);
  await (await (await runner()).work()).channel.succeed("done");
  await ada.client.ok("POST", `/v1/models/${model}/examples`, { prediction_id: id });
  const { token } = await createShare(services, callerOf({ user_id }), id, 1);
  const { status, body } = await nobody.json("GET", `/v1/models/${model}/examples`);
  expect(status).toBe(200);
  const page = await (await nobody.fetch(`/shared/${token}`)).text();
  expect(page).toContain("done");
  for (const text of [page, JSON.stringify(body)]) expect(text).not.toContain(ada.username);
});
