/** Base URLs of clients of OpenAI and Anthropic: those that work, and what a slightly wrong one gets. */
import { expect, test } from "vitest";
import { checkedError } from "../../published/anthropic.ts";
import { expectErrorBody } from "../../published/validate.ts";
import { ORIGIN } from "../support/client.ts";
import { newWorld } from "../support/world.ts";

const { client } = await newWorld();

test.each([
  ["/openai/v1", "/v1/vendora"],
  ["/anthropic/v1", "/v1/vendorb"],
  ["/anthropic", "/v1/vendorb"],
])("%s lists the same models as %s", async (path, contract) => {
  const [models, expected] = await Promise.all(
    [path, contract].map((base) => client.fetch(`${base}/models`)),
  );
  expect(models?.status).toBe(200);
  expect(await models?.json()).toEqual(await expected?.json());
});

const unknown = { model: "nobody/nothing" };
/** An unknown model is an error of the route, so that a request with it has reached the route. */
const NO_MODEL = "The model 'nobody/nothing' does not exist";

test.each(
  ["/openai/v1", "/v1", "/v1/vendora"].flatMap((base) =>
    [
      ...["chat/completions", "responses", "completions", "embeddings", "moderations", "rerank"],
      ...["images/generations", "audio/speech"],
    ].map((path) => `${base}/${path}`),
  ),
)("a call of %s reaches its route", async (path) => {
  const response = await client.post(path, unknown);
  const body: { error: { message: string } } = await response.json();
  expectErrorBody(body);
  expect(body.error.message).toContain(NO_MODEL);
});

test.each([
  ...["/anthropic/v1/messages", "/anthropic/messages", "/v1/messages", "/v1/vendorb/v1/messages"],
  ...["/anthropic/v1/messages/count_tokens", "/v1/messages/count_tokens"],
])("a call of %s reaches its route", async (path) => {
  const messages = [{ role: "user", content: "Hi" }];
  const response = await client.post(path, { ...unknown, max_tokens: 1, messages });
  const { error } = checkedError(await response.json());
  expect(error.message).toContain(NO_MODEL);
});

test.each([
  ...["/openai/v1/chat/completions/", "/openai/v1//chat/completions", "//openai/v1/embeddings"],
  ...["/openai/v1/v1/chat/completions", "/v1/v1/responses", "/openai/chat/completions"],
  ...["/chat/completions", "/responses/resp_0/cancel", "/vendora/models", "/v1/embeddings/"],
  ...["//v1/chat/completions", "/openai", "/v1/openai/v1/chat/completions"],
])("a request of %s gets the base URL of OpenAI's clients", async (path) => {
  const response = await client.fetch(ORIGIN + path, { method: "POST", body: "{}" });
  expect(response.status).toBe(404);
  const body: { error: { message: string } } = await response.json();
  expectErrorBody(body);
  expect(body.error).toMatchObject({ code: "not_found", type: "invalid_request_error" });
  expect(body.error.message).toBe(
    `There is nothing at ${path}. The base URL for this client is ${ORIGIN}/openai/v1.`,
  );
});

test.each([
  ...["/anthropic/v1/messages/", "/anthropic//messages", "/v1/v1/messages", "/messages"],
  ...["/anthropic/v1/v1/messages", "/vendorb/messages", "//v1/messages", "/v1/messages/batches"],
])("a request of %s gets the base URL of Anthropic's clients", async (path) => {
  const response = await client.fetch(ORIGIN + path, { method: "POST", body: "{}" });
  expect(response.status).toBe(404);
  const { error } = checkedError(await response.json());
  expect(error.message).toBe(
    `There is nothing at ${path}. The base URL for this client is ${ORIGIN}/anthropic.`,
  );
});
