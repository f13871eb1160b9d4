/** The call that an ordinary prediction becomes for a container that accepts only calls. */
import { describe, expect, test } from "vitest";
import { callOf } from "../../../src/domain/openai/call.ts";
import { type Compatibilities, newCompatibilities } from "../../../src/protocol/model.ts";

const serverWith = (...flags: (keyof Compatibilities)[]) => ({
  configuration: { isolation: "model", egress: "public", interface: "vendora" } as const,
  compatibilities: newCompatibilities.parse(Object.fromEntries(flags.map((flag) => [flag, true]))),
});

const DRAWS = "vendora_images_generations";
const EDITS = "vendora_images_edits";
const CHATS = "vendora_chat_completions";
const COMPLETES = "vendora_completions";
const IMAGE = "https://example.com/hills.png";

describe("a server that draws", () => {
  test.each([
    [[DRAWS], { prompt: "Hills" }, "images_generations"],
    [[DRAWS, EDITS], { prompt: "Hills" }, "images_generations"],
    [[DRAWS, EDITS], { prompt: "Night", image: IMAGE }, "images_edits"],
    [[EDITS], { prompt: "Night" }, "images_edits"],
    [[DRAWS], { prompt: "Night", image: IMAGE }, "images_generations"],
    [[DRAWS, CHATS], { prompt: "Hills" }, "images_generations"],
    [[DRAWS, CHATS], { messages: [{ role: "user", content: "Hi" }] }, "chat_completions"],
    [[DRAWS, EDITS, COMPLETES], { prompt: "Once" }, "completions"],
    [[DRAWS, EDITS, COMPLETES], { prompt: "Night", image: IMAGE }, "images_edits"],
  ] as const)("that has %j is given %j", (flags, input, call) => {
    expect(callOf(serverWith(...flags), input)).toBe(call);
  });
});
