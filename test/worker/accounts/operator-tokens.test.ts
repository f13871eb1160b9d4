/** Access tokens with the scope `operator`, and the appointment of operators. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test } from "vitest";
import { newToken, sha256 } from "../../../src/domain/accounts/token.ts";
import { getServices } from "../../../src/services/services.ts";
import { run } from "../support/accounts.ts";
import { Client, type Refusal } from "../support/client.ts";
import { newOrganization, setRole } from "../support/organizations.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newOperatorUser, newUser, operator, unique } from "../support/world.ts";

const services = getServices(env);

afterEach(() => {
  startClock();
  services.settings.operatorToken = env.OPERATOR_TOKEN;
});

const ask = (client: Client) => client.json<Refusal>("GET", "/v1/operator/runners");
const create = (client: Client) =>
  client.json<Refusal>("POST", "/v1/operator/users", { username: unique("user") });

describe("a token with the scope operator", () => {
  test("the token of an operator works with any OPERATOR_TOKEN", async () => {
    const { client } = await newOperatorUser();
    expect((await ask(client)).status).toBe(200);
    services.settings.operatorToken = undefined;
    expect((await ask(client)).status).toBe(200);
    expect((await create(client)).status).toBe(200);
  });

  test("the token has no right in the account of its user", async () => {
    const { client } = await newOperatorUser();
    for (const path of ["/v1/user", "/v1/predictions"])
      expect((await client.json("GET", path)).status).toBe(403);
    expect((await client.json("POST", "/v1/models", { name: "poet" })).status).toBe(403);
  });

  test("an operator's token without the scope is refused with the way to another", async () => {
    const { username } = await newOperatorUser();
    const { status, body } = await ask(await newClient(username));
    expect(status).toBe(403);
    expect(body.detail).toContain("a token with the scope operator. Create one at /tokens");
  });

  test("the token of a demoted operator reads for 10 s at most, and writes nothing", async () => {
    stopClock();
    await newOperatorUser();
    const { client, username } = await newOperatorUser();
    expect((await ask(client)).status).toBe(200);
    // As another isolate does.
    await run("UPDATE users SET operator_since = NULL WHERE username = ?", username);
    expect((await ask(client)).status).toBe(200);
    expect((await create(client)).status).toBe(403);
    await operator.ok("PUT", `/v1/operator/users/${username}/operator`);
    expect((await ask(client)).status).toBe(200);
    await run("UPDATE users SET operator_since = NULL WHERE username = ?", username);
    advance(10);
    const { status, body } = await ask(client);
    expect(status).toBe(403);
    expect(body.detail).toMatch(/Only operators can do this. Ask an operator/);
  });

  test("a service token and a token of an organization are refused even with the scope", async () => {
    const { username, user_id } = await newOrganization();
    const path = `/v1/operator/users/${username}/tokens`;
    const { id } = await operator.ok<{ id: string }>("POST", path, { name: "x" });
    const person = await newOperatorUser();
    const token = newToken("aus");
    for (const [maker, role] of [
      [person.user_id, "owner"],
      [person.user_id, null],
    ]) {
      await run(
        `UPDATE tokens SET hash = ?, scopes = '["operator"]', made_by = ?, service_role = ? WHERE id = ?`,
        ...[await sha256(token), maker, role, id],
      );
      await setRole({ user_id }, person, "owner");
      expect((await create(new Client(token))).status).toBe(403);
    }
  });
});

describe("the scope operator is given to nobody else", () => {
  const body = { name: "x", scopes: ["operator"] };
  const tokensOf = (username: string) => `/v1/operator/users/${username}/tokens`;

  test("an operator cannot create such a token for a user who is not an operator", async () => {
    const { client } = await newOperatorUser();
    const { username } = await newUser();
    const { status, body: refusal } = await client.json("POST", tokensOf(username), body);
    expect(status).toBe(422);
    expect(JSON.stringify(refusal)).toContain("ask an operator to make this user one");
  });

  test("an operator cannot create such a token for an organization", async () => {
    const { username } = await newOrganization();
    expect((await operator.json("POST", tokensOf(username), body)).status).toBe(422);
  });

  test("such a token cannot be limited to models", async () => {
    const { username } = await newOperatorUser();
    const limited = { ...body, models: ["a/b"] };
    const { status, body: refusal } = await operator.json("POST", tokensOf(username), limited);
    expect(status).toBe(422);
    expect(JSON.stringify(refusal)).toContain("cannot be limited to models");
  });

  test("an operator cannot create such a token of their organization", async () => {
    const { username } = await newOperatorUser();
    const client = await newClient(username, { scopes: ["read", "write", "predict", "operator"] });
    const organization = unique("org");
    await client.ok("POST", "/v1/organizations", { username: organization });
    const path = `/v1/organizations/${organization}/tokens`;
    for (const service_role of [null, "owner"])
      expect((await client.json("POST", path, { ...body, service_role })).status).toBe(422);
  });

  test("a token that nobody limited has the scopes of users", async () => {
    const { username, client } = await newOperatorUser();
    await client.ok("POST", tokensOf(username), { name: "usual" });
    const { items } = await client.ok<{ items: { name: string; scopes: string[] }[] }>(
      "GET",
      tokensOf(username),
    );
    expect(items.find(({ name }) => name === "usual")?.scopes).toEqual([
      "read",
      "write",
      "predict",
    ]);
  });
});

describe("the appointment of an operator", () => {
  const at = (username: string) => `/v1/operator/users/${username}/operator`;

  test("an organization and a suspended user cannot be operators", async () => {
    const { username } = await newOrganization();
    const refused = await operator.json<Refusal>("PUT", at(username));
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toContain("Make one of its members an operator");
    const user = await newUser();
    await operator.ok("PUT", `/v1/operator/users/${user.username}/suspension`);
    expect((await operator.json("PUT", at(user.username))).status).toBe(409);
  });

  test("an operator who was appointed before stays one since then", async () => {
    const { username } = await newOperatorUser();
    const since = () => run("SELECT operator_since FROM users WHERE username = ?", username);
    const before = await since();
    stopClock();
    advance(60);
    await operator.ok("PUT", at(username));
    expect(await since()).toEqual(before);
  });

  test("the only operator can neither be demoted nor suspend themselves", async () => {
    await run("UPDATE users SET operator_since = NULL");
    const { username, client } = await newOperatorUser();
    const { status, body } = await client.json<Refusal>("DELETE", at(username));
    expect(status).toBe(409);
    expect(body.detail).toContain("is the only operator. Make another user an operator first");
    const suspension = `/v1/operator/users/${username}/suspension`;
    expect((await client.json("PUT", suspension)).status).toBe(409);
    const other = await newOperatorUser();
    expect((await other.client.json("DELETE", at(username))).status).toBe(200);
    expect((await other.client.json("DELETE", at(username))).status).toBe(409);
  });

  test("an operator whose account is restored after a suspension is no operator", async () => {
    const { username, client } = await newOperatorUser();
    const suspension = `/v1/operator/users/${username}/suspension`;
    await operator.ok("PUT", suspension);
    expect((await ask(client)).status).toBe(401);
    await operator.ok("DELETE", suspension);
    expect((await ask(client)).status).toBe(403);
  });
});
