/** A user whose every text is as long as it may be, in a script from right to left or as one long word. */
import type { Client } from "../../../src/dev/client.ts";
import { model, version } from "../../../src/protocol/model.ts";
import { newToken } from "../../../src/protocol/operator.ts";
import { predictionWithIO } from "../../../src/protocol/prediction.ts";
import { sessionResponse } from "../../../src/protocol/runner.ts";
import { user } from "../../../src/protocol/user.ts";
import { variable } from "../../../src/protocol/variable.ts";
import { webhookEndpoint } from "../../../src/protocol/webhook.ts";

/** A name of 63 characters in paths and addresses. */
export const SLUG = `${"nomen-est-".repeat(6)}omn`;
const WORD = "Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft";
const HEBREW = "נקודת קצה, שהשם שלה ארוך במיוחד: ";

/** Returns a text of both kinds. */
const text = (length: number) => `${HEBREW}${WORD.repeat(length)}`.slice(0, length);

const DIGEST = `sha256:${"0".repeat(64)}`;

/** Creates all that a user can name. @returns the addresses of its pages */
export async function makeOwn(client: Client, gated: string): Promise<string[]> {
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
export async function makeFleet(operator: Client, url: string): Promise<string[]> {
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

export const tokenOf = (operator: Client, username: string) =>
  operator.call(newToken, "POST", `/operator/users/${username}/tokens`, {
    body: { name: text(100) },
  });
