/** Starts the OpenID Connect provider of the Worker's tests, and the server that takes commands for it. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { TestProject } from "vitest/node";
import { type Command, ORIGINS } from "../../oidc/person.ts";
import { OidcServer } from "../../oidc/provider.ts";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const provider = await OidcServer.open(ORIGINS.map((origin) => `${origin}/auth/callback/oidc`));
  const door = createServer({ keepAliveTimeout: 0 }, async (request, response) => {
    // The body is not checked, because only our own tests send commands.
    const done = await obey(provider, (await json(request)) as Command);
    response.end(JSON.stringify(done));
  });
  door.listen(0, "127.0.0.1");
  await once(door, "listening");
  project.provide("oidc", {
    issuer: provider.issuer,
    door: `http://127.0.0.1:${(door.address() as AddressInfo).port}`,
  });
  return async () => {
    door.close();
    door.closeAllConnections();
    await provider.close();
  };
}

async function obey(provider: OidcServer, command: Command): Promise<string> {
  if (command.verb === "rotate") await provider.rotate();
  else if (command.verb === "person") provider.people.set(command.person.sub, command.person);
  else return provider.authorize(command.url, command.sub);
  return "";
}
