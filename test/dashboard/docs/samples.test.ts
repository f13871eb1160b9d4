/** The example requests of the reference, in each language. */
import { expect, test } from "vitest";
import { curlOf, javascriptOf, pythonOf } from "../../../src/dashboard/docs/reference/code.ts";
import type { SampleRequest } from "../../../src/dashboard/docs/reference/request.ts";

const JSON_TYPE = { type: "application/json", isBytes: false };
const BYTES = { type: "application/octet-stream", isBytes: true, example: undefined };

const GET: SampleRequest = {
  url: "https://auspex.example.com/v1/models",
  method: "GET",
  token: undefined,
  body: undefined,
  answer: { ...JSON_TYPE, example: {} },
};
const POST: SampleRequest = {
  ...GET,
  method: "POST",
  token: "AUSPEX_TOKEN",
  body: { ...JSON_TYPE, example: { model: "demo/o'hara", stream: true, webhook: null } },
};

test("a read has its example request", () => {
  expect(curlOf(GET)).toBe("curl 'https://auspex.example.com/v1/models'");
  expect(pythonOf(GET)).toBe(`import json, urllib.request

request = urllib.request.Request(
    "https://auspex.example.com/v1/models",
    headers={
        "User-Agent": "auspex-sample",
    },
)
with urllib.request.urlopen(request) as response:
    print(json.load(response))`);
  expect(
    javascriptOf(GET),
  ).toBe(`const response = await fetch("https://auspex.example.com/v1/models");
if (!response.ok) throw new Error(await response.text());
console.log(await response.json());`);
});

test("a call with a body and a token has its example request", () => {
  expect(curlOf(POST)).toContain(`"model": "demo/o'\\''hara"`);
  expect(pythonOf(POST)).toContain(
    `data=json.dumps({"model": "demo/o'hara", "stream": True, "webhook": None}).encode(),`,
  );
  expect(pythonOf(POST)).toContain('"Authorization": "Bearer " + os.environ["AUSPEX_TOKEN"],');
  expect(javascriptOf(POST)).toContain(
    `body: JSON.stringify({ model: "demo/o'hara", stream: true, webhook: null }),`,
  );
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what the sample says
  expect(javascriptOf(POST)).toContain("Authorization: `Bearer ${process.env.AUSPEX_TOKEN}`,");
});

test("requests with bytes, streams or without content have their examples", () => {
  const put = { ...POST, method: "PUT", body: BYTES };
  expect(pythonOf(put)).toMatch(/data=open\("part", "rb"\)[\s\S]*headers\["ETag"\]\)$/);
  expect(javascriptOf(put)).toMatch(/^import { readFile }[\s\S]*body: await readFile\("part"\)/);
  const file = { ...GET, answer: BYTES };
  expect(pythonOf(file)).toMatch(/^import urllib[\s\S]*open\("file", "wb"\)/);
  expect(javascriptOf(file)).toMatch(/^import { writeFile }/);
  const stream = { ...GET, answer: { ...BYTES, isBytes: false, type: "text/event-stream" } };
  expect(pythonOf(stream)).toMatch(/for line in response:\n {8}print/);
  expect(javascriptOf(stream)).toContain("new TextDecoderStream()");
  expect(pythonOf({ ...GET, answer: undefined })).toMatch(/print\(response.status\)$/);
  expect(javascriptOf({ ...GET, answer: undefined })).toMatch(/response.status\);$/);
});
