/** Unknown addresses and methods below /v2, which are answered in the format of registries. */
import { expect, test } from "vitest";
import { anonymous, expectError, newRepository } from "../support/registry.ts";

const repository = await newRepository();

test.each([
  "/v2/predictions",
  "/v2/responses",
  "/v2/_catalog",
  "/v2/ada/story",
  "/v2/ada/story/tags",
  "/v2/ada/story/nothing/latest",
  "/v2/ada/story/manifests/",
  "/v2/ada/story/part/manifests/latest",
  "/v2//story/manifests/latest",
  "/v2/%00",
  "/v2/%E0%A4%A",
])("the address %s is a 404 for every method", async (path) => {
  for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]) {
    const answer = await repository.send(method, path);
    expect([method, answer.status]).toEqual([method, 404]);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    if (method !== "HEAD")
      expect(await expectError(answer, 404, "NAME_UNKNOWN")).toContain("{owner}/{model}");
  }
});

test("a method that an address does not take is a 405 with Allow", async () => {
  for (const [method, path, allow] of [
    ["POST", "/v2/", "GET, HEAD"],
    ["POST", "/v2/token", "GET, HEAD"],
    ["DELETE", "/v2/ada/story/tags/list", "GET, HEAD"],
    ["PUT", "/v2/ada/story/blobs/uploads/", "POST"],
  ] as const) {
    const answer = await repository.send(method, path);
    expect(answer.headers.get("allow")).toBe(allow);
    await expectError(answer, 405, "UNSUPPORTED");
  }
});

test("a request without credentials to an unknown address is a 404 as well", async () => {
  await expectError(await anonymous.fetch("/v2/_catalog"), 404, "NAME_UNKNOWN");
});
