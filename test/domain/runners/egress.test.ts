import { expect, test } from "vitest";
import { egress, listsHost } from "../../../src/protocol/egress.ts";

test.each([
  ["huggingface.co", 443, true],
  ["huggingface.co", 80, false],
  ["cdn.huggingface.co", 443, false],
  ["evilhuggingface.co", 443, false],
  ["cas.xet.hf.co", 443, true],
  ["hf.co", 443, false],
  ["evilhf.co", 443, false],
  ["ghcr.io", 8443, true],
  ["ghcr.io", 443, false],
  ["", 443, false],
])("an egress list has the entry for %s:%i: %s", (host, port, listed) => {
  expect(listsHost(["huggingface.co", "*.hf.co", "ghcr.io:8443"], host, port)).toBe(listed);
});

test.each([
  ["none", true],
  ["public", true],
  ["private", false],
  [["huggingface.co", "*.hf.co", "xn--bcher-kva.example:8443"], true],
  [[], false],
  [["10.0.0.1"], false],
  [["[::1]"], false],
  [["localhost"], false],
  [["HuggingFace.co"], false],
  [["https://huggingface.co"], false],
  [["*"], false],
  [["a.*.co"], false],
  [["hf.co:0"], false],
  [["-a.co"], false],
  [Array.from({ length: 51 }, (_, n) => `h${n}.co`), false],
])("the egress entry %j is valid: %s", (said, valid) => {
  expect(egress.safeParse(said).success).toBe(valid);
});
