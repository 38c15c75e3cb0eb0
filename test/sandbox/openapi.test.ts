import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { describeService } from '../../src/sandbox/openapi.ts';

test('describeService gives a valid OpenAPI document', async () => {
  const result = await new Validator().validate(JSON.parse(JSON.stringify(describeService())));
  expect(result).toEqual({ valid: true });
});

test('describeService gives the same document as the snapshot', async () => {
  await expect(JSON.stringify(describeService(), undefined, 2)).toMatchFileSnapshot('openapi.snapshot');
});
