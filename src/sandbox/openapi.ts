import * as z from 'zod/mini';
import { createDocument } from 'zod-openapi';
import { API_VERSION, INVENTORY_PATH } from '../contract/http.ts';
import { ErrorBody, InventoryItem, InventoryUpdate, PetId, PetStatus } from '../contract/models.ts';
import { BASE_PATHS } from './environments.ts';

const HEADERS = {
  'X-RateLimit-Limit': { description: 'The limit in force', schema: { type: 'integer' } },
  'X-RateLimit-Remaining': { description: 'Requests left in the current window', schema: { type: 'integer' } },
  'X-RateLimit-Reset': { description: 'Unix timestamp at which the limit resets', schema: { type: 'integer' } },
} as const;

const RETRY_AFTER = { 'Retry-After': { description: 'When to come back', schema: { type: 'string' } } } as const;

function answerOf(description: string, schema: z.ZodMiniType) {
  return { description, headers: HEADERS, content: { 'application/json': { schema } } };
}

const REFUSALS = {
  '401': answerOf('Missing or invalid API key', ErrorBody),
  '429': { ...answerOf('Rate limit exceeded', ErrorBody), headers: { ...HEADERS, ...RETRY_AFTER } },
};

const LIST = {
  operationId: 'listInventory',
  tags: ['inventory'],
  summary: 'Returns current stock levels for all pets in the store',
  responses: { '200': answerOf('The stock of every pet', z.array(InventoryItem)), ...REFUSALS },
};

const UPDATE = {
  operationId: 'updateInventory',
  tags: ['inventory'],
  summary: 'Sets the stock quantity of one pet',
  description: 'Experimental: the shape of the request may change before it is stable.',
  requestParams: { path: z.object({ petId: PetId }) },
  requestBody: { required: true, content: { 'application/json': { schema: InventoryUpdate } } },
  responses: {
    '200': answerOf('The updated entry', InventoryItem),
    '400': answerOf('The body is missing required fields or contains invalid values', ErrorBody),
    ...REFUSALS,
    '404': answerOf('The requested resource could not be found', ErrorBody),
  },
};

/** The OpenAPI 3.1 document of the sandbox, made from the schemas of the contract. */
export function describeService(): ReturnType<typeof createDocument> {
  return createDocument(
    {
      openapi: '3.1.0',
      info: { title: 'Pet Store inventory (sandbox)', version: API_VERSION },
      servers: [
        { url: BASE_PATHS.production, description: 'Production' },
        { url: BASE_PATHS.staging, description: 'Staging' },
      ],
      security: [{ bearerAuth: [] }],
      components: {
        securitySchemes: { bearerAuth: { type: 'http', scheme: 'bearer' } },
        schemas: { InventoryItem, InventoryUpdate, PetStatus, Error: ErrorBody },
      },
      paths: { [`/${INVENTORY_PATH}`]: { get: LIST }, [`/${INVENTORY_PATH}/{petId}`]: { patch: UPDATE } },
    },
    { allowEmptySchema: { bigint: true }, override: writeIntegers },
  );
}

/** Declares numbers and ids as integers: JSON Schema cannot express the schemas' integer checks, and has no type for a bigint. */
function writeIntegers({ zodSchema, jsonSchema }: { zodSchema: unknown; jsonSchema: Record<string, unknown> }): void {
  if (zodSchema === PetId) {
    delete jsonSchema.anyOf;
    Object.assign(jsonSchema, { type: 'integer', format: 'int64' });
  }
  if (jsonSchema.type === 'number') jsonSchema.type = 'integer';
}
