/** What of a prediction a link shows. */
import { expect, test } from "vitest";
import {
  namesSource,
  sharedInput,
  withSharedFiles,
} from "../../../src/domain/predictions/shared-content.ts";

const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const OTHER = "01980c3e-7b0a-7c5e-9d52-000000000000";
const QUERY = "?expires=9999999999&signature=ab-c_d";

test("addresses of files end with the link, and do not name the prediction", () => {
  const place = {
    predictionId: ID,
    origins: ["https://a.test", "https://files.test"],
    address: "https://a.test/shared/t",
  };
  const text = JSON.stringify({
    own: `https://a.test/v1/files/${ID}/out.png${QUERY}`,
    apart: [`https://files.test/v1/files/${ID}/b.wav${QUERY}`],
    said: `See https://a.test/v1/files/${OTHER}/c.png${QUERY}, there.`,
    elsewhere: `https://b.test/v1/files/${ID}/d.png${QUERY}`,
  });
  expect(JSON.parse(withSharedFiles(text, place))).toEqual({
    own: "https://a.test/shared/t/files/run/out.png",
    apart: ["https://a.test/shared/t/files/run/b.wav"],
    said: `See https://a.test/shared/t/files/${OTHER}/c.png, there.`,
    elsewhere: `https://b.test/v1/files/${ID}/d.png${QUERY}`,
  });
});

test("secret fields are left out, and an input without names altogether", () => {
  expect(sharedInput({ a: 1, key: 2 }, (name) => name === "key")).toEqual({ a: 1 });
  expect(sharedInput([1], () => false)).toBeUndefined();
  expect(sharedInput(undefined, () => false)).toBeUndefined();
});

test("a source is of an input that names it", () => {
  expect(namesSource(JSON.stringify({ a: `/v1/uploads/${ID}` }), ID)).toBe(true);
  expect(namesSource(JSON.stringify({ a: `https://a.test/v1/files/${ID}/x${QUERY}` }), ID)).toBe(
    true,
  );
  expect(namesSource(JSON.stringify({ a: ID }), ID)).toBe(false);
});
