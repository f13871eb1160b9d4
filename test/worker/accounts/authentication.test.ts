/** Least privilege: a token may no more than its scopes say, also where none is needed. */
import { expect, test } from "vitest";
import type { Client } from "../support/client.ts";
import { newClient, newWorld } from "../support/world.ts";

const status = (client: Client, path: string) =>
  client.fetch(path).then((response) => response.status);

test("where anybody may read, a token without the scope read sees what nobody sees", async () => {
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
