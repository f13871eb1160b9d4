/** Least privilege: a token is limited to its scopes also on routes that need no token. */
import { expect, test } from "vitest";
import type { Client } from "../support/client.ts";
import { newClient, newWorld } from "../support/world.ts";

const status = (client: Client, path: string) =>
  client.fetch(path).then((response) => response.status);

test("a token without the scope read sees only public models on routes that need no token", async () => {
  const own = await newWorld({ visibility: "private" });
  const shown = await newWorld({ visibility: "public" });
  for (const [scope, expected] of [
    ["read", 200],
    ["write", 404],
    ["predict", 404],
  ] as const) {
    const client = await newClient(own.username, { scopes: [scope] });
    expect(await status(client, `/v1/models/${own.model}`)).toBe(expected);
    expect(await status(client, `/v1/models/${shown.model}`)).toBe(200);
  }
});
