/** Every 429 says when to try again. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { errorResponse, ProblemError } from "../../../src/errors/errors.ts";
import { OpenAiProblem, openAiProblem } from "../../../src/errors/openai.ts";
import { RegistryError } from "../../../src/errors/registry.ts";
import { responseHeaders } from "../../../src/middleware/response-headers.ts";
import { router } from "../../../src/routes/router.ts";

const REFUSALS: [string, Error][] = [
  ["/v1/predictions", new ProblemError("too_many_requests", "Wait.")],
  ["/v1/vendora/responses", new ProblemError("too_many_requests", "Wait.")],
  ["/v1/vendora/chat/completions", openAiProblem(429, "The container is overloaded.")],
  ["/v1/vendorb/messages", new OpenAiProblem(429, { message: "The container is overloaded." })],
  ["/replicate/v1/predictions", new ProblemError("too_many_requests", "Wait.")],
  ["/v2/ada/story/blobs/uploads/", new RegistryError(429, "TOOMANYREQUESTS", "Finish some.")],
];

const answered = (path: string, error: Error) => {
  const app = router().use(responseHeaders);
  app.onError(errorResponse);
  app.get(path, () => {
    throw error;
  });
  return app.request(path, {}, env);
};

test.each(REFUSALS)(
  "a 429 of %s has retry-after, also where its cause knows none",
  async (path, error) => {
    const { status, headers } = await answered(path, error);
    expect(status).toBe(429);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  },
);

test("a 429 keeps the retry-after of its cause", async () => {
  const error = new ProblemError("too_many_requests", "Wait.", { "retry-after": "3" });
  expect((await answered("/v1/predictions", error)).headers.get("retry-after")).toBe("3");
});

test("an answer that is no 429 has no retry-after", async () => {
  const { headers } = await answered("/v1/predictions", new ProblemError("not_found", "Gone."));
  expect(headers.get("retry-after")).toBeNull();
});
