/**
 * The contrast of a log's colors on its background, and of text on its colored backgrounds, in both schemes.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const styleOf = (name: string) =>
  readFileSync(new URL(`../../src/dashboard/style/${name}`, import.meta.url), "utf8");

/** The values of a token in the light and the dark scheme. */
const TOKENS = new Map(
  [...styleOf("tokens.css").matchAll(/--([\w-]+): light-dark\((#\w+), (#\w+)\)/g)].map(
    ([, name = "", light = "", dark = ""]) => [name, [light, dark]] as const,
  ),
);

/** Returns the tokens that the rules of these classes use. */
const tokensIn = (property: string, selector: RegExp) =>
  [...(styleOf("utilities.css") + styleOf("logs.css")).matchAll(/([^{}]+)\{([^}]*)\}/g)].flatMap(
    ([, selectors = "", body = ""]) => {
      const [, token] = new RegExp(`(?:^|\\s)${property}: var\\(--([\\w-]+)\\)`).exec(body) ?? [];
      return token && selector.test(selectors) ? [token] : [];
    },
  );

function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(text: string, ground: string, scheme: 0 | 1): number {
  const [a = 0, b = 0] = [text, ground]
    .map((name) => luminance(TOKENS.get(name)?.[scheme] ?? ""))
    .sort((one, other) => other - one);
  return (a + 0.05) / (b + 0.05);
}

test.each([
  ["light", 0],
  ["dark", 1],
] as const)("in %s", (_, scheme) => {
  const texts = tokensIn("color", /\.fg-|\.dim/);
  const grounds = tokensIn("background", /\.bg-/);
  expect([texts.length, grounds.length]).toEqual([7, 7]);
  for (const text of texts) expect(contrast(text, "raised", scheme), text).toBeGreaterThan(4.5);
  for (const ground of grounds)
    expect(contrast("text", ground, scheme), ground).toBeGreaterThan(4.5);
  expect(contrast("on-accent", "accent", scheme)).toBeGreaterThan(4.5);
});
