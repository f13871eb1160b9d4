/** `auspex login` with a browser, against a real deployment. test/cli has the command's other answers. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Home } from "../../cli/support/command.ts";
import { inTerminal } from "../../cli/support/terminal.ts";
import { world } from "../support/shared.ts";

let home: Home;

beforeAll(() => {
  home = new Home();
});
afterAll(() => home.remove());

/** Sends forms as a browser does. */
class Person {
  readonly #url: string;
  #cookie = "";

  constructor(url: string) {
    this.#url = url;
  }

  async send(path: string, fields: Record<string, string>): Promise<string> {
    const page = this.#cookie === "" ? "" : await this.#ask("/account");
    const [, form_token = ""] = /name="form-token" content="(\w+)"/.exec(page) ?? [];
    const body = new URLSearchParams({ ...(form_token && { form_token }), ...fields });
    return this.#ask(path, { method: "POST", body });
  }

  async #ask(path: string, init: RequestInit = {}): Promise<string> {
    const headers = { accept: "text/html", origin: this.#url, cookie: this.#cookie };
    const response = await fetch(this.#url + path, { ...init, headers, redirect: "manual" });
    const set = response.headers.getSetCookie().map((one) => one.split(";")[0]);
    if (set.length > 0) this.#cookie = set.join("; ");
    return response.text();
  }
}

it("`auspex login` gets a token of the person who approves its code, also on a closed deployment", async () => {
  const { url } = world.access;
  const grace = new Person(url);
  const password = "a long enough password";
  const form = { username: "grace", name: "", email: "grace@example.com", password };
  await grace.send("/sign-up", form);
  const { code, screen } = await inTerminal(home, ["login", url, "--no-browser"], {
    after: /Waiting for the approval/,
    keys: async (shown) => {
      const [user_code = ""] = /[B-Z]{4}-[B-Z]{4}/.exec(shown) ?? [];
      const confirm = await grace.send("/device", { user_code });
      expect(confirm).toContain("grace");
      await grace.send("/device/answer", { user_code, answer: "approve" });
      return "";
    },
  });
  expect(code, screen).toBe(0);
  expect(screen).toContain(`Logged in to ${url} as grace.`);
  expect((await home.run(["whoami"])).out).toBe(`grace at ${url}\n`);
  const kept = readFileSync(join(home.folder, "config/auspex/credentials.json"), "utf8");
  expect(JSON.parse(kept).token).toMatch(/^aus_\w+$/);
});
