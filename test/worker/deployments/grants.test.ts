/** Grants of operators: how many containers an account may keep running. */
import { expect, test } from "vitest";
import { entriesOf } from "../support/audit.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { newDeployment } from "../support/deployments.ts";
import { textOf } from "../support/page-text.ts";
import { newWorld, operator, type World } from "../support/world.ts";

const grant = ({ username, hardware }: World, instances: number) =>
  operator.ok("PUT", `/v1/operator/users/${username}/capacity/${hardware}`, { instances });

test("an account keeps as many containers running as it is granted, in all its deployments", async () => {
  const world = await newWorld();
  const { client, username, model, hardware } = world;
  expect(await grant(world, 3)).toEqual({ hardware, instances: 3, claimed: 0 });
  const one = await newDeployment(client, { model, min_instances: 2 });
  const refusal = await client.json("POST", "/v1/deployments", {
    ...{ name: "two", model, min_instances: 2 },
  });
  expect(refusal).toMatchObject({
    status: 409,
    body: {
      detail: `min_instances is 2, but this account may keep 3 containers of '${hardware}' running, and its other deployments claim 2. Lower min_instances, or ask an operator of this installation to grant more.`,
    },
  });
  await newDeployment(client, { name: "two", model, min_instances: 1 });
  const list = `/v1/operator/users/${username}/capacity`;
  expect(await operator.ok("GET", list)).toEqual({
    items: [{ hardware, instances: 3, claimed: 3 }],
  });
  // A deployment's own claim does not count beside its next one.
  const path = `/v1/deployments/${one.owner}/${one.name}`;
  await client.ok("PATCH", path, { max_concurrency: 2 });
  expect((await client.json("PATCH", path, { min_instances: 3 })).status).toBe(409);
});

test("deployments at once never claim more than is granted", async () => {
  const world = await newWorld();
  const { client, model } = world;
  await grant(world, 2);
  const statuses = await Promise.all(
    Array.from({ length: 6 }, async (_, n) => {
      const body = { name: `d${n}`, model, min_instances: 1 };
      return (await client.json("POST", "/v1/deployments", body)).status;
    }),
  );
  expect(statuses.toSorted()).toEqual([200, 200, 409, 409, 409, 409]);
});

test("a grant is for a class that exists, and is recorded once", async () => {
  const world = await newWorld();
  const { client, username } = world;
  const unknown = `/v1/operator/users/${username}/capacity/no-such-class`;
  expect((await operator.json("PUT", unknown, { instances: 1 })).status).toBe(404);
  for (const instances of [2, 2, 0]) await grant(world, instances);
  const entries = await entriesOf(client, "?action=capacity.granted");
  expect(entries.map(({ changes, actor }) => [actor.type, changes?.after])).toEqual([
    ["operator_token", { instances: 0 }],
    ["operator_token", { instances: 2 }],
  ]);
});

test("an operator grants capacity on the page of an account, and sees what is claimed", async () => {
  const world = await newWorld();
  const { username, hardware, client, model } = world;
  const { visitor } = await newOperator();
  const page = `/users/${username}`;
  await visitor.look(page);
  const set = (fields: Record<string, string>) => visitor.send(`${page}/capacity`, fields);
  expect((await set({ hardware, instances: "3" })).location).toBe(`${page}#capacity`);
  await newDeployment(client, { model, min_instances: 2 });
  const { html } = await visitor.look(page);
  const [, row] = new RegExp(`<th scope="row">${hardware}</th>(.*?)</tr>`, "s").exec(html) ?? [];
  expect(textOf(row ?? "").trim()).toBe("3 2");
  for (const [fields, problem] of [
    [{ hardware, instances: "" }, "required"],
    [{ hardware, instances: "-1" }, "greater than or equal to 0"],
    [{ hardware: "no-such", instances: "1" }, "was not found"],
  ] as const)
    expect((await set(fields)).html).toContain(problem);
});
