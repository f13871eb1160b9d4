/** The pages of the API reference: a map, a page for each group of endpoints, and one of all schemas. */
import { raw } from "hono/html";
import { operationsIn } from "../../../openapi/document.ts";
import {
  type Document,
  type DocumentedOperation,
  type Operation as OperationObject,
  resolveSchema,
} from "../../../openapi/types.ts";
import type { Manifest } from "../../../protocol/assets.ts";
import { ownHtml } from "../../ui/markdown.ts";
import { groupPath, REFERENCE, SCHEMAS } from "../contents.ts";
import { DocsLayout, Neighbors } from "../layout.tsx";
import { Method, Operation, WebhookOperation } from "./operation.tsx";
import { addressOf } from "./request.ts";
import { About, anchorOf, Fields, Inline, Type } from "./schema.tsx";

interface Group {
  name: string;
  description: string;
  operations: DocumentedOperation[];
  posted: OperationObject[];
}

interface Props {
  document: Document;
  assets: Manifest;
}

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

/** The page at a path of REFERENCE_PAGES. */
export function ReferencePage({ path, ...props }: Props & { path: string }) {
  if (path === REFERENCE) return <Overview {...props} />;
  if (path === SCHEMAS) return <SchemasPage {...props} />;
  const group = groupsOf(props.document).find(({ name }) => groupPath(name) === path);
  if (!group) throw new Error(`The document has no group at ${path}.`);
  return <GroupPage group={group} {...props} />;
}

/** The overview: rules of all calls, and a link to each group. */
function Overview({ document, assets }: Props) {
  const { info, servers } = document;
  const headings: { id: string; html: string }[] = [];
  const introduction = ownHtml(info.description ?? "", (heading) => headings.push(heading));
  return (
    <DocsLayout
      title="API reference"
      description={`Every call of the ${info.title} API, with its parameters, limits and responses.`}
      path={REFERENCE}
      assets={assets}
    >
      <h1>API reference</h1>
      <p class="quiet">
        Base URL: <code>{servers?.[0]?.url}</code> · <a href="/v1/openapi.json">OpenAPI document</a>{" "}
        · version {info.version}
      </p>
      <ul class="bar hint">
        {headings.map(({ id, html }) => (
          <li>
            <a href={`#${id}`}>{raw(html)}</a>
          </li>
        ))}
      </ul>
      <dl class="ruled pairs">
        {groupsOf(document).map(({ name, description }) => (
          <div>
            <dt class="strong">
              <a href={groupPath(name)}>{name}</a>
            </dt>
            <dd class="hint">
              <Inline text={firstSentence(description)} />
            </dd>
          </div>
        ))}
      </dl>
      {raw(introduction)}
      <Neighbors path={REFERENCE} />
    </DocsLayout>
  );
}

const firstSentence = (text: string) => /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text;

function GroupPage({ group, document, assets }: Props & { group: Group }) {
  const { name, description, operations, posted } = group;
  const path = groupPath(name);
  return (
    <DocsLayout
      title={`${name} · API reference`}
      description={firstSentence(description)}
      path={path}
      assets={assets}
      contents={
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
      }
      scripts={["docs"]}
    >
      <div class="measure">
        <h1>{name}</h1>
        {raw(ownHtml(description))}
        <ul class="overview">
          {operations.map(({ method, path, operation }) => (
            <li>
              <a href={`#${operation.operationId}`}>
                <Method method={method} /> <code>{addressOf(path)}</code>
              </a>
            </li>
          ))}
        </ul>
      </div>
      {operations.map((one) => (
        <Operation document={document} one={one} />
      ))}
      {posted.map((operation) => (
        <WebhookOperation operation={operation} schemas={document.components?.schemas ?? {}} />
      ))}
      <Neighbors path={path} />
    </DocsLayout>
  );
}

function SchemasPage({ document, assets }: Props) {
  const schemas = document.components?.schemas ?? {};
  return (
    <DocsLayout
      title="Schemas · API reference"
      description="Every object that the API takes or returns, with its fields."
      path={SCHEMAS}
      assets={assets}
    >
      <h1>Schemas</h1>
      {Object.entries(schemas)
        .toSorted(([a], [b]) => a.localeCompare(b))
        .map(([name, schema]) => (
          <article id={anchorOf(name)} class="schema">
            <h2>{name}</h2>
            <p class="quiet small">
              <Type schema={schema} />
            </p>
            <About schema={schema} />
            <Fields schema={resolveSchema(schema, schemas)} />
          </article>
        ))}
      <Neighbors path={SCHEMAS} />
    </DocsLayout>
  );
}
