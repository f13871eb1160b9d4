/** A service that `auspex login` asks, which gives the answers of a test. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { DeviceRefusal } from "../../../src/protocol/device-login.ts";
import { Home } from "./command.ts";

const USER = {
  ...{ id: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e", username: "ada", name: "", kind: "user" },
  ...{ avatar_url: "", bio: "", urls: [], location: "", company: "", organizations: [] },
  ...{ created_at: "2026-11-26T00:00:00.000Z", updated_at: "2026-11-26T00:00:00.000Z" },
};
export const BEGUN = {
  ...{ device_code: "ausd_secret", user_code: "BCDF-GHJK", interval: 1, expires_in: 600 },
  verification_uri: "https://elsewhere.example.com/device",
};
export const GIVEN = {
  access_token: "aus_new",
  token_type: "Bearer",
  expires_in: 1,
  scope: "read",
};

export type Answer = [status: number, body: unknown];

export const refused = (error: DeviceRefusal["error"]): Answer => [
  400,
  { error, error_description: `It says ${error}.` },
];

interface Service {
  /** The answer to the request for a code. */
  begun: Answer;
  /** The answers to the polls: the last one again and again. */
  polls: Answer[];
  /** The forms that were sent, by path. */
  forms: [path: string, fields: object][];
}

const fresh = (): Service => ({ begun: [200, BEGUN], polls: [[200, GIVEN]], forms: [] });

export const service = fresh();
let server: Server;
export let url: string;
export let home: Home;

/** Starts the service and makes a home before each test of a file. */
export function useLogin(): void {
  beforeEach(async () => {
    Object.assign(service, fresh());
    server = createServer(async (request, response) => {
      const { begun, polls, forms } = service;
      const path = request.url ?? "";
      let body = "";
      for await (const chunk of request) body += chunk;
      if (request.method === "POST")
        forms.push([path, Object.fromEntries(new URLSearchParams(body))]);
      const isPoll = path === "/oauth/token";
      const [status, said] = isPoll
        ? ((polls.length > 1 ? polls.shift() : polls[0]) ?? refused("invalid_grant"))
        : path === "/oauth/device_authorization"
          ? begun
          : ([request.headers.authorization === "Bearer aus_new" ? 200 : 401, USER] as const);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(said));
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    home = new Home();
  });
  afterEach(() => {
    server.close();
    home.remove();
  });
}

/** Puts an `xdg-open` into the PATH, which notes what it is to open. @returns the notes */
export function withBrowser(): string {
  const [folder, notes] = [join(home.folder, "bin"), join(home.folder, "opened")];
  mkdirSync(folder);
  writeFileSync(join(folder, "xdg-open"), `#!/bin/sh\necho "$@" >>"${notes}"\n`);
  chmodSync(join(folder, "xdg-open"), 0o755);
  home.environment.PATH = [folder, process.env.PATH].join(delimiter);
  home.environment.DISPLAY = ":0";
  return notes;
}

export const keptToken = () =>
  JSON.parse(readFileSync(join(home.folder, "config/auspex/credentials.json"), "utf8")).token;
