/** The list of users over pages, searched, and with many users. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { run } from "../support/accounts.ts";
import { type DashboardUser, newDashboardUser, newOperator } from "../support/dashboard-users.ts";
import { unique } from "../support/world.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const rowOf = (html: string, username: string) =>
  new RegExp(`<tr><th scope="row"><a href="/users/${username}">.*?</tr>`, "s").exec(html)?.[0];

const rename = (person: DashboardUser, name: string) =>
  person.client.ok("PATCH", "/v1/user", { name });

describe("the list of users", () => {
  it("the list takes the same number of statements for any number of users", async () => {
    const { visitor } = await newOperator();
    const count = async () => {
      const prepare = vi.spyOn(env.DB, "prepare");
      await visitor.look("/users");
      const { length } = prepare.mock.calls;
      prepare.mockRestore();
      return length;
    };
    const before = await count();
    for (let n = 0; n < 3; n++) await newDashboardUser();
    expect(await count()).toBe(before);
  });

  it("the list goes on where a page ends", async () => {
    const { visitor } = await newOperator();
    const person = await newDashboardUser();
    // The user is older than all others, and so on the last page.
    const id = `00000000-0000-7000-8000-${unique("").replace(/\D/g, "").slice(-12).padStart(12, "0")}`;
    await run(
      "INSERT INTO users (id, username, name, avatar_url, created_at, updated_at) VALUES (?, ?, '', '', 1, 1)",
      id,
      unique("first"),
    );
    for (let n = 0; n < 50; n++)
      await run(
        "INSERT INTO users (id, username, name, avatar_url, created_at, updated_at) VALUES (?, ?, '', '', 1, 1)",
        crypto.randomUUID().replace(/^./, "f"),
        unique("many"),
      );
    const { html } = await visitor.look("/users");
    expect(rowOf(html, person.username)).toBeUndefined();
    let [, next] = /<a href="(\/users\?cursor=[^"]+)" rel="next"/.exec(html) ?? [];
    for (let pages = 0; pages < 20 && next !== undefined; pages++) {
      const page = await visitor.look(next.replaceAll("&amp;", "&"));
      if (rowOf(page.html, person.username)) return;
      [, next] = /<a href="(\/users\?cursor=[^"]+)" rel="next"/.exec(page.html) ?? [];
    }
    expect.fail("on no page");
  });

  it("the list is searched by names and usernames", async () => {
    const { visitor } = await newOperator();
    const [person, other] = [await newDashboardUser(), await newDashboardUser()];
    const word = unique("zyx").replaceAll("-", "");
    await rename(person, `Grace ${word}`);
    for (const q of [word.slice(0, -1), person.username]) {
      const { html } = await visitor.look(`/users?${new URLSearchParams({ q })}`);
      expect([q, rowOf(html, person.username)]).toEqual([q, expect.any(String)]);
    }
    const { html } = await visitor.look(`/users?q=${word}`);
    expect(rowOf(html, other.username)).toBeUndefined();
    expect((await visitor.look(`/users?q=${unique("nobody")}${word}`)).html).toContain(
      "No users found",
    );
  });
});
