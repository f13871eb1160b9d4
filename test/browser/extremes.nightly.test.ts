/** Texts that are long, without a space, or from right to left: on a desktop, at 200 %, and on a phone. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../src/dev/client.ts";
import { model, version } from "../../src/protocol/model.ts";
import { newToken } from "../../src/protocol/operator.ts";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import { sessionResponse } from "../../src/protocol/runner.ts";
import { user } from "../../src/protocol/user.ts";
import { variable } from "../../src/protocol/variable.ts";
import { webhookEndpoint } from "../../src/protocol/webhook.ts";
import { OPERATOR, Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

/** A name of 63 characters in paths and addresses. */
const SLUG = `${"nomen-est-".repeat(6)}omn`;
const WORD = "Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft";
const HEBREW = "נקודת קצה, שהשם שלה ארוך במיוחד: ";

/** Returns a text of both kinds. */
const text = (length: number) => `${HEBREW}${WORD.repeat(length)}`.slice(0, length);

const DIGEST = `sha256:${"0".repeat(64)}`;

/** Creates all that a user can name. @returns the addresses of its pages */
async function makeOwn(client: Client, gated: string): Promise<string[]> {
  const path = `/models/${SLUG}/${SLUG}`;
  await client.call(user, "PATCH", "/user", {
    body: {
      name: text(100),
      bio: text(1_000),
      location: text(100),
      company: text(100),
      urls: [`https://example.com/${"u".repeat(2_000)}`],
    },
  });
  await client.call(model, "POST", "/models", {
    body: {
      name: SLUG,
      visibility: "public",
      description: text(1_000),
      overview: `# ${text(300)}\n\n${text(2_000)}\n\n| ${text(200)} | b |\n|---|---|\n| 1 | 2 |\n\n\`\`\`\n${"c".repeat(500)}\n\`\`\``,
      source_url: `https://example.com/${"s".repeat(2_000)}`,
      hardware_identifier: SLUG,
    },
  });
  const name = `A${"_NAME".repeat(12)}`;
  await client.call(variable, "PUT", `${path}/variables/${name}`, { body: { value: "a value" } });
  const property = { type: "string", title: text(200), description: text(1_000) };
  await client.call(version, "POST", `${path}/versions`, {
    body: {
      release_notes: text(255),
      container_image_digest: DIGEST,
      configuration: { image: `folders.invalid/${SLUG}/${SLUG}`, variable_names: [name] },
      schemas: {
        prediction: {
          input: {
            type: "object",
            properties: {
              [`p_${"long_".repeat(20)}`]: { ...property, default: text(500) },
              choice: { ...property, enum: [text(300), "b"] },
            },
          },
          output: { type: "string" },
        },
      },
    },
  });
  const endpoint = await client.call(webhookEndpoint, "POST", "/webhook-endpoints", {
    body: { url: `https://hooks.example.com/${"h".repeat(1_900)}`, description: text(200) },
  });
  const create = async (of: string, input: object, wait: boolean) => {
    const call = { body: { model: of, input }, headers: { prefer: wait ? "wait" : "wait=0" } };
    return (await client.call(predictionWithIO, "POST", "/predictions", call)).id;
  };
  const waiting = await create(`${SLUG}/${SLUG}`, {}, false);
  const before = [text(3_000), `\n\n# ${text(200)}\n\n- ${text(400)}\n`];
  const said = await create(gated, { before, gate: "", after: [] }, true);
  return [
    "/",
    "/find?q=nomen",
    "/models?q=nomen",
    "/models",
    `/models/${SLUG}`,
    path,
    `${path}/overview`,
    `${path}/versions`,
    `${path}/versions/1`,
    `${path}/api`,
    `${path}/settings`,
    `${path}/versions/new`,
    `${path}/variables`,
    "/predictions",
    `/predictions/${waiting}`,
    `/predictions/${said}`,
    "/account",
    "/account/usage",
    "/account/webhooks",
    `/account/webhooks/${endpoint.id}`,
    "/account/webhooks/deliveries",
    "/tokens",
  ];
}

/**
 * Makes a token of the user by an operator, and a class and a runner with such names. @returns their pages
 */
async function makeFleet(operator: Client, url: string): Promise<string[]> {
  await operator.call({ parse: () => {} }, "PUT", `/operator/hardware/${SLUG}`, {
    body: { name: text(100), gpus: 8 },
  });
  const { token } = await operator.call(newToken, "POST", "/operator/runner_tokens", {
    body: { name: text(100), hardware: [SLUG] },
  });
  const response = await fetch(`${url}/v1/runner/sessions`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({
      protocol: 2,
      name: text(100),
      hardware: [SLUG],
      version: "v".repeat(50),
      engine: "docker",
      slots: 1_000,
      machine: {
        cpus: 1_000,
        memory_gb: 100_000,
        gpus: Array.from({ length: 8 }, () => ({ name: text(200), memory_gb: 1_000 })),
      },
    }),
  });
  const { runner_id } = sessionResponse.parse(await response.json());
  return [
    "/fleet",
    `/fleet/runners/${runner_id}`,
    "/fleet/tokens",
    "/fleet/hardware",
    `/fleet/hardware/${SLUG}`,
    "/users",
    `/users/${SLUG}`,
  ];
}

const tokenOf = (operator: Client, username: string) =>
  operator.call(newToken, "POST", `/operator/users/${username}/tokens`, {
    body: { name: text(100) },
  });

let site: Site;
let fleet: string[];
let own: string[];

beforeAll(async () => {
  site = await Site.open();
  await site.world.runner("one");
  fleet = await makeFleet(site.world.operator, site.url);
  const client = await site.clientOf(SLUG);
  await tokenOf(site.world.operator, SLUG);
  own = await makeOwn(client, `${OPERATOR}/gated`);
});
afterAll(() => site.close());

describe.each([
  ["whose texts they are", SLUG, () => own],
  ["an operator", OPERATOR, () => fleet],
])("for %s", (_, username, addresses) => {
  let visitor: Visitor;
  beforeAll(async () => {
    visitor = await site.visitor({ as: username });
  });
  afterAll(() => site.leave());

  it("every page fits its window, and text from right to left runs in its own direction", async () => {
    const faults: string[] = [];
    for (const address of addresses()) {
      await visitor.open(address).catch((error: Error) => faults.push(error.message));
      await visitor.zoom().catch((error: Error) => faults.push(error.message));
      await visitor.narrow().catch((error: Error) => faults.push(error.message));
      await visitor.widen();
      for (const one of await misdirected(visitor.page)) faults.push(`${address}: ${one}`);
    }
    expect(faults).toEqual([]);
  });
});

/**
 * Returns texts from right to left in lines that are not, which would turn the texts next to them around.
 * Code runs from left to right.
 */
const misdirected = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const found = new Set<string>();
    /** Whether an element up to the block isolates its direction. */
    const isIsolated = (element: Element): boolean => {
      const { direction, unicodeBidi, display } = getComputedStyle(element);
      if (direction === "rtl" || unicodeBidi === "plaintext") return true;
      const { parentElement } = element;
      return display === "inline" && parentElement !== null && isIsolated(parentElement);
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      const parent = node.parentElement;
      if (!parent || !/^\P{L}*[\u0590-\u05ff]/u.test(node.nodeValue ?? "")) continue;
      if (parent.closest("pre, code, option, textarea, script, title, svg")) continue;
      if (isIsolated(parent)) continue;
      const start = (parent.parentElement ?? parent).outerHTML.slice(0, 160);
      found.add(start.replace(/\s+/g, " "));
    }
    return [...found];
  });
