/** Starts the receiver of webhooks for the Worker's tests, and the server that takes commands for it. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { TestProject } from "vitest/node";
import { Receiver } from "../../receiver/receiver.ts";
import type { Command } from "./receiver.ts";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const receiver = await Receiver.open();
  const door = createServer({ keepAliveTimeout: 0 }, async (request, response) => {
    const done = await obey(receiver, await commandOf(request));
    response.end(JSON.stringify(done));
  });
  door.listen(0, "127.0.0.1");
  await once(door, "listening");
  project.provide("receiver", {
    url: receiver.url,
    door: `http://127.0.0.1:${(door.address() as AddressInfo).port}`,
  });
  return async () => {
    door.close();
    door.closeAllConnections();
    await receiver.close();
  };
}

/** The body is not checked, because only our own tests send commands. */
const commandOf = (request: IncomingMessage): Promise<Command> => json(request) as Promise<Command>;

function obey(receiver: Receiver, command: Command): unknown {
  if (command.verb === "script") {
    receiver.script(command.target, command.behaviours);
    return [];
  }
  if (command.verb === "release") {
    receiver.release(command.path);
    return [];
  }
  const { path, count, over } = command;
  return receiver.waitFor(
    path,
    (all) => all.length >= count && (!over || all.every((one) => one.over)),
  );
}
