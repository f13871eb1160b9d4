/** The reference page: the document for people. Made on the server, works without JavaScript. */
import { raw } from "hono/html";
import { operationsIn } from "../../../openapi/document.ts";
import {
  type Document,
  type DocumentedOperation,
  type Operation as OperationObject,
  resolveSchema,
  type Schemas,
} from "../../../openapi/types.ts";
import type { Manifest } from "../../../protocol/assets.ts";
import { ownHtml, slugOf } from "../../ui/markdown.ts";
import { Copy } from "../../ui/parts.tsx";
import { FOR_CONTRIBUTORS, NAVIGATION, REFERENCE } from "../contents.ts";
import { DocsLayout } from "../layout.tsx";
import { Method, Operation, WebhookOperation } from "./operation.tsx";
import { About, anchorOf, Fields, Type } from "./schema.tsx";

interface Group {
  name: string;
  description: string;
  operations: DocumentedOperation[];
  posted: OperationObject[];
}

export function ReferencePage({ document, assets }: { document: Document; assets: Manifest }) {
  const { info, components } = document;
  const groups = groupsOf(document);
  return (
    <DocsLayout
      title="API reference"
      description={`Every call of the ${info.title} API, with its parameters, limits and responses.`}
      path={REFERENCE}
      assets={assets}
      navigation={<Navigation groups={groups} />}
      scripts={["docs"]}
    >
      <Start base={document.servers?.[0]?.url ?? ""} />
      <h2 id="api-reference">API reference</h2>
      <p class="quiet">
        Base URL: <code>{document.servers?.[0]?.url}</code> ·{" "}
        <a href="/v1/openapi.json">OpenAPI document</a> · version {info.version}
      </p>
      <section class="introduction">{raw(ownHtml(info.description ?? ""))}</section>
      {groups.map((group) => (
        <GroupView group={group} document={document} />
      ))}
      <SchemaList schemas={components?.schemas ?? {}} />
    </DocsLayout>
  );
}

/** The way into the documentation: a first call, and all guides. */
const Start = ({ base }: { base: string }) => (
  <>
    <h1>Documentation</h1>
    <h2 id="quickstart">Quickstart</h2>
    <p>
      Create an <a href="/tokens">access token</a>, pick a <a href="/models">model</a>, and run it:
    </p>
    <Copy lines text={quickstartOf(base)} />
    <h2 id="guides">Guides</h2>
    <ul>
      {NAVIGATION.flatMap(({ pages }) => pages)
        .filter(([address]) => address !== REFERENCE)
        .map(([address, label]) => (
          <li>
            <a href={address}>{label}</a>
          </li>
        ))}
    </ul>
    <p class="quiet small">
      For contributors:{" "}
      {FOR_CONTRIBUTORS.map(([address, label], n) => (
        <>
          {n > 0 && ", "}
          <a href={address}>{label}</a>
        </>
      ))}
    </p>
  </>
);

const quickstartOf = (base: string) => `export AUSPEX_TOKEN=aus_…
curl ${base}/predictions \\
  -H "Authorization: Bearer $AUSPEX_TOKEN" \\
  -H "Content-Type: application/json" -H "Prefer: wait" \\
  -d '{"model": "owner/model", "input": {"prompt": "Hello"}}'`;

function groupsOf(document: Document): Group[] {
  const operations = operationsIn(document);
  const posted = Object.values(document.webhooks ?? {}).flatMap(({ post }) => post ?? []);
  return (document.tags ?? []).map(({ name, description = "" }) => ({
    name,
    description,
    operations: operations.filter(({ operation }) => operation.tags?.includes(name)),
    posted: posted.filter(({ tags }) => tags?.includes(name)),
  }));
}

const Navigation = ({ groups }: { groups: Group[] }) => (
  <nav aria-label="Contents" class="contents">
    <ul>
      <li>
        <a href="#main">Introduction</a>
      </li>
      {groups.map(({ name, operations, posted }) => (
        <li>
          <a href={`#${slugOf(name)}`}>{name}</a>
          <ul>
            {operations.map(({ method, operation }) => (
              <li>
                <a href={`#${operation.operationId}`}>
                  {operation.summary} <Method method={method} />
                </a>
              </li>
            ))}
            {posted.map(({ operationId, summary }) => (
              <li>
                <a href={`#${operationId}`}>{summary}</a>
              </li>
            ))}
          </ul>
        </li>
      ))}
      <li>
        <a href="#schemas">Schemas</a>
      </li>
    </ul>
  </nav>
);

const GroupView = ({ group, document }: { group: Group; document: Document }) => (
  <section aria-labelledby={slugOf(group.name)}>
    <h2 id={slugOf(group.name)}>{group.name}</h2>
    {raw(ownHtml(group.description))}
    <ul class="overview">
      {group.operations.map(({ method, path, operation }) => (
        <li>
          <a href={`#${operation.operationId}`}>
            <Method method={method} /> <code>{path}</code>
          </a>
        </li>
      ))}
    </ul>
    {group.operations.map((one) => (
      <Operation document={document} one={one} />
    ))}
    {group.posted.map((operation) => (
      <WebhookOperation operation={operation} schemas={document.components?.schemas ?? {}} />
    ))}
  </section>
);

const SchemaList = ({ schemas }: { schemas: Schemas }) => (
  <section aria-labelledby="schemas">
    <h2 id="schemas">Schemas</h2>
    {Object.entries(schemas)
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([name, schema]) => (
        <article id={anchorOf(name)} class="schema">
          <h3>{name}</h3>
          <p class="quiet small">
            <Type schema={schema} />
          </p>
          <About schema={schema} />
          <Fields schema={resolveSchema(schema, schemas)} />
        </article>
      ))}
  </section>
);
