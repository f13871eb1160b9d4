/** The calls of the API as passages to be searched, beside those of the guides (guide/render.ts). */
import { operationsIn } from "../../../openapi/document.ts";
import type { Document } from "../../../openapi/types.ts";
import type { Passage } from "../../../protocol/assets.ts";
import { REFERENCE } from "../contents.ts";

export const callsIn = (document: Document): Passage[] =>
  operationsIn(document).map(({ operation, method, path }) => ({
    path: REFERENCE,
    page: "API reference",
    id: operation.operationId ?? "",
    title: operation.summary ?? path,
    text: `${method.toUpperCase()} ${path} ${operation.description ?? ""}`,
  }));
