/** Ways to publish for users without a model or a version, without client code. */
import { describe, expect, it } from "vitest";
import { Client, ORIGIN } from "../support/client.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { Images } from "../support/images.ts";
import { NEW_MODEL, NEW_VERSION, owner } from "../support/model-pages.ts";
import { textOf } from "../support/page-text.ts";
import { FakeRunner } from "../support/runner.ts";
import { signedUp, Visitor } from "../support/visitor.ts";
import { newRunnerToken, operator, unique } from "../support/world.ts";

const HOST = new URL(ORIGIN).host;

/** Returns the commands of a page, as they are copied. */
const commandsOf = (html: string) =>
  [...html.matchAll(/<code>([^<]*)<\/code><\/pre>/g)].map(([, text = ""]) => textOf(text));

const tokenIn = (html: string) => /aus_\w{20,}/.exec(html)?.[0];

describe("an empty account", () => {
  it.each(["/", "/models/OWN", "/models/publish"])(
    "a user reads how to publish at %s",
    async (path) => {
      const { visitor, username } = await signedUp();
      const { html } = await visitor.look(path.replace("OWN", username));
      const [command = "", docker = "", cog = ""] = commandsOf(html);
      expect(command).toContain(`npm install --global ${ORIGIN}/auspex.tgz`);
      expect(command).toContain(`auspex login ${ORIGIN}`);
      expect(command).toContain("auspex init greeter --template node && auspex publish greeter");
      expect(docker).toContain(
        `docker login ${HOST} --username ${username} --password-stdin &lt;&lt;&lt; "$AUSPEX_TOKEN" docker build --platform linux/amd64 --tag ${HOST}/${username}/greeter . docker push ${HOST}/${username}/greeter`,
      );
      expect(cog).toContain("COG_PUSH_OCI=1");
      expect(cog).toContain(`cog push ${HOST}/${username}/greeter`);
      for (const way of [docker, cog])
        expect(way).toContain(`'{"release_notes": "First version", "image": "latest"}'`);
      expect(tokenIn(html)).toBeUndefined();
    },
  );

  it("a user gets a token in place, once, which the commands then contain", async () => {
    const { visitor, username } = await signedUp();
    await visitor.look("/");
    const { html, status, headers } = await visitor.send("/models/publish");
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    const token = tokenIn(html) ?? expect.fail("no token");
    const ways = commandsOf(html).slice(1);
    expect(ways).toHaveLength(3);
    for (const way of ways) expect(way).toContain(token);
    expect(html).not.toContain("aus_…");
    const client = new Client(token);
    expect(await client.ok("GET", "/v1/user")).toMatchObject({ username });
    await client.ok("POST", "/v1/models", { name: "poet" });
    const listed = textOf((await visitor.look("/tokens")).html);
    expect(listed).toContain(`Publishing ${token.slice(0, 10)}`);
    expect(listed).toContain("read, write, predict");
    expect(listed).not.toContain(token);
  });

  it("a user with the maximum of tokens gets a message", async () => {
    const { visitor, username } = await signedUp();
    for (let n = 0; n < 100; n++) {
      const path = `/v1/operator/users/${username}/tokens`;
      await operator.ok("POST", path, { name: `${n}`, scopes: ["read"] });
    }
    const { status, html } = await visitor.send("/models/publish");
    expect(status).toBe(409);
    expect(textOf(html)).toContain("at most 100 access tokens");
    expect(commandsOf(html)).toHaveLength(3);
  });

  it("a user reads who adds a runner while there is none for the model", async () => {
    const hardware = unique("hw");
    await operator.put(`/v1/operator/hardware/${hardware}`, { name: hardware });
    const boss = await newOperator();
    const made = { ...NEW_MODEL, hardware_identifier: hardware };
    await boss.visitor.send("/models/new", made);
    const told = async (visitor: Visitor, path: string) => (await visitor.look(path)).html;
    const path = `/models/${boss.username}/story`;
    expect(await told(boss.visitor, path)).toContain('<a href="/fleet">Add a GPU machine</a>');
    const { visitor, path: other } = await owner({ hardware_identifier: hardware });
    expect(await told(visitor, other)).toContain("Ask the operator of this deployment");
    await FakeRunner.begin(await newRunnerToken(hardware), hardware, unique("box"));
    expect(await told(visitor, other)).not.toContain("No runners available");
  });
});

describe("a model without a version", () => {
  it("a model shows its owner the ways to publish it, and nobody else", async () => {
    const { visitor, username, path } = await owner({ name: "poet" });
    const { html } = await visitor.look(path);
    expect(commandsOf(html).join()).toContain(`docker push ${HOST}/${username}/poet`);
    expect(html).toContain(`href="${path}">its playground`);
    expect((await new Visitor().look(path)).html).not.toContain("docker push");
    for (const page of ["/versions", "/api"])
      expect((await visitor.look(path + page)).html).toContain(`href="${path}/publish"`);
    const made = await visitor.send(`${path}/publish`);
    expect(tokenIn(made.html)).toBeDefined();
    expect(commandsOf(made.html).join()).toContain(`auspex run ${username}/poet`);
  });

  it("a model with a version no longer shows them", async () => {
    const { visitor, path } = await owner();
    await visitor.send(`${path}/versions/new`, NEW_VERSION);
    expect((await visitor.look(path)).html).not.toContain("docker push");
    const { html } = await visitor.look(`${path}/publish`);
    expect(commandsOf(html).join()).toContain('"release_notes": "What is new"');
    expect(commandsOf(html)[0]).toMatch(/ && auspex publish --model [\w-]+\/story$/);
    expect(commandsOf((await visitor.look("/")).html)).toHaveLength(1);
  });
});

it("a pasted command makes a version of the pushed image", async () => {
  const { visitor, username } = await signedUp();
  await visitor.look("/");
  const { html } = await visitor.send("/models/publish");
  const client = new Client(tokenIn(html));
  await new Images(client, `${username}/greeter`).push("latest", { Entrypoint: ["vllm", "serve"] });
  const [, docker = ""] = commandsOf(html).slice(1);
  const [, path = "", body = ""] = /curl https:\/\/[^/]+(\S+).*-d '(.*)'/.exec(docker) ?? [];
  const version = await client.ok("POST", path, JSON.parse(body));
  expect(version).toMatchObject({ number: 1, status: "awaiting_first_start" });
  const { html: home } = await visitor.look(`/models/${username}/greeter`);
  expect(textOf(home)).not.toContain("No version yet");
});
