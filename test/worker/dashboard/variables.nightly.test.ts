/** More of the page of variables: full tables, line breaks, and who gets a variable. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { newModel, publish } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { setVariable } from "../support/variables.ts";
import { signedUp, type Visitor } from "../support/visitor.ts";
import { newClient, newWorld } from "../support/world.ts";

const SECRET = "hunter2-is-the-value";

let visitor: Visitor;
let client: Client;
let model: string;
let page: string;

beforeEach(async () => {
  const person = await signedUp();
  visitor = person.visitor;
  client = await newClient(person.username);
  const { name } = await newModel(client);
  model = `${person.username}/${name}`;
  page = `/models/${model}/variables`;
});

describe("the form of a variable", () => {
  it("the form shows that only runs of a version that names the variable get it", async () => {
    const said = async () => {
      await visitor.send(page, { variable_name: "HF_TOKEN", value: SECRET });
      return /role="status">([^<]*)/.exec((await visitor.look(page)).html)?.[1];
    };
    expect(await said()).toBe("HF_TOKEN saved. Publish a version that lists it to apply it.");
    await publish(client, model, { configuration: { variable_names: ["OTHER"] } });
    expect(await said()).toBe("HF_TOKEN saved. Publish a version that lists it to apply it.");
    await publish(client, model, { configuration: { variable_names: ["HF_TOKEN"] } });
    expect(await said()).toBe("HF_TOKEN saved. New predictions get it within 10 seconds.");
  });

  it("the form keeps lines as they were typed, not as forms send them", async () => {
    const world = await newWorld({ configuration: { variable_names: ["KEY"] } });
    const { visitor: owner, username } = await signedUp();
    await env.DB.prepare(
      "UPDATE models SET owner_id = (SELECT id FROM users WHERE username = ?) WHERE owner_id = ?",
    )
      .bind(username, world.user_id)
      .run();
    const own = `${username}/story`;
    const value = "-----BEGIN KEY-----\r\nMII\r\n-----END KEY-----\r\n";
    const sent = await owner.send(`/models/${own}/variables`, { variable_name: "KEY", value });
    expect(sent.status).toBe(303);
    await (await newClient(username)).create({ model: own, input: {} });
    const job = await (await world.runner()).take();
    expect(job.variables).toEqual({ KEY: "-----BEGIN KEY-----\nMII\n-----END KEY-----\n" });
  });

  it("a full table refuses a new variable, and does not show the value again", async () => {
    for (let n = 0; n < 100; n++) await setVariable(client, model, `V${n}`);
    const { status, html } = await visitor.send(page, { variable_name: "MORE", value: SECRET });
    expect(status).toBe(409);
    expect(html).toContain("A model can have at most 100 variables");
    expect(html).not.toContain(SECRET);
  });
});
