/** The parts of a prediction that a shared link shows. */
import { expect, test } from "vitest";
import {
  namesFile,
  sharedInput,
  withSharedFiles,
} from "../../../src/domain/predictions/shared-content.ts";

const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const OTHER = "01980c3e-7b0a-7c5e-9d52-000000000000";
const QUERY = "?expires=9999999999&signature=ab-c_d";

test("addresses of files carry the link, and do not name the prediction", () => {
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

test("secret fields are left out, and an input without names is left out completely", () => {
  expect(sharedInput({ a: 1, key: 2 }, (name) => name === "key")).toEqual({ a: 1 });
  expect(sharedInput([1], () => false)).toBeUndefined();
  expect(sharedInput(undefined, () => false)).toBeUndefined();
});

test("a shared file is one that the input names or that its upload has, and no other of the same source", () => {
  const input = (text: string) => JSON.stringify({ a: text });
  const address = `https://a.test/v1/files/${ID}/data-1.png`;
  for (const text of [address, `${address}${QUERY}`, `See ${address}, there.`])
    expect(namesFile(input(text), ID, "data-1.png")).toBe(true);
  expect(namesFile(input(`/v1/uploads/${ID}`), ID, "data-1.png")).toBe(true);
  for (const name of ["data-2.png", "data-1", "data-1.pn", "ata-1.png"])
    expect(namesFile(input(`${address}${QUERY}`), ID, name)).toBe(false);
  expect(namesFile(input(ID), ID, "data-1.png")).toBe(false);
  expect(namesFile(input(`${address}.png ${address}`), ID, "data-1.png")).toBe(true);
});
