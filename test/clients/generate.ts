/** Makes clients of a document, as users of the API do: node generate.ts <document> <folder> */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createClient } from "@hey-api/openapi-ts";
import openapiTS, { astToString } from "openapi-typescript";
import { generate } from "orval";

const [document = "", folder = ""] = process.argv.slice(2);

const types = astToString(await openapiTS(pathToFileURL(document)));
await writeFile(join(folder, "openapi-typescript.ts"), types);
await createClient({
  input: document,
  output: join(folder, "hey-api"),
  logs: { level: "error", file: false },
});
await generate({
  input: document,
  output: {
    target: join(folder, "orval.ts"),
    client: "fetch",
    mode: "single",
    // The base URL is the server of the document.
    baseUrl: { getBaseUrlFromSpecification: true },
  },
});
