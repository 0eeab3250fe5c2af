"""The functions of FlashAttention and transformers by their names: log-sum-exps, cached keys, padding, and refused
arguments."""

import pytest

torch = pytest.importorskip("torch", reason="SKIP: no PyTorch in this environment")
import napkin  # noqa: E402
import napkin.torch as nt  # noqa: E402
from napkin import _registry  # noqa: E402
from torch_on_cpu import cpu_kernels, reference, tensors  # noqa: E402, F401


def test_the_log_sum_exp_as_flash_attn_gives_it():
    q, k, v = (t.transpose(1, 2) for t in tensors())
    o, lse, mask = nt.flash_attn_func(q, k, v, causal=True, return_attn_probs=True)
    assert mask is None and lse.shape == (2, 4, 8) and torch.equal(o, nt.flash_attn_func(q, k, v, causal=True))
    starts = torch.tensor([0, 8, 16], dtype=torch.int32), torch.tensor([0, 16, 32], dtype=torch.int32)
    o, lse, mask = nt.flash_attn_varlen_func(*(t.flatten(0, 1) for t in (q, k, v)), *starts, 8, 16, return_attn_probs=True)
    assert mask is None and lse.shape == (4, 16) and o.shape == (16, 4, 16)


@pytest.mark.parametrize("lengths", [None, 9, [3, 13]])
@pytest.mark.parametrize("new", [0, 2])
@pytest.mark.parametrize("page, left", [(0, False), (4, False), (0, True)])
def test_kept_keys(lengths, new, page, left):
    torch.manual_seed(1)
    one = lambda *sizes: torch.randn(*sizes).to(torch.bfloat16)  # noqa: E731
    q, k, v, more_k, more_v = one(2, 3, 4, 16), one(2, 16, 2, 16), one(2, 16, 2, 16), one(2, new, 2, 16), one(2, new, 2, 16)
    before = [14 if new else 16] * 2 if lengths is None else [lengths] * 2 if isinstance(lengths, int) else lengths
    given = torch.tensor(lengths, dtype=torch.int32) if isinstance(lengths, list) else 14 if lengths is None and new else lengths
    skip = [1, 2] if left else [0, 0]
    caches, table = [k.clone(), v.clone()], None
    if page:
        table = torch.randperm(10)[:8].view(2, 4).int()
        pages = [torch.randn(10, page, 2, 16).to(torch.bfloat16) for _ in "kv"]
        for to, of in zip(pages, (k, v)):
            to[table.long()] = of.unflatten(1, (4, page))
        caches = pages
    o, lse = nt.flash_attn_with_kvcache(q, *caches, *((more_k, more_v) if new else ()), cache_seqlens=given, block_table=table, causal=True,
                                        cache_leftpad=torch.tensor(skip, dtype=torch.int32) if left else None, return_softmax_lse=True)
    if page:
        caches = [t[table.long()].flatten(1, 2) for t in caches]
    for i, n in enumerate(before):
        keys, values = (torch.cat((of[i, :n], fresh[i])) for of, fresh in ((k, more_k), (v, more_v)))
        assert torch.equal(caches[0][i, :n + new], keys) and torch.equal(caches[1][i, :n + new], values)
        right, right_lse = reference(*(t.transpose(0, 1)[None] for t in (q[i], keys[skip[i]:], values[skip[i]:])), -1, 0, None)
        assert torch.allclose(o[i].transpose(0, 1).double(), right[0], atol=2e-2) and torch.allclose(lse[i].double(), right_lse[0], atol=1e-4)


def test_terms_that_no_kernel_has_are_refused_with_the_nearest_kernel_and_its_reason():
    q, k, v = (t.transpose(1, 2) for t in tensors())
    starts = torch.tensor([0, 8], dtype=torch.int32)
    for give, reason, right in (
        ({"dropout_p": 0.1}, "drops no score", "0, or another"), ({"softcap": 30.0}, "scores as they are", "soft_capped_attention"),
        ({"alibi_slopes": torch.ones(4)}, "adds nothing to scores", "alibi_attention"),
    ):
        calls = [lambda: nt.flash_attn_func(q, k, v, **give), lambda: nt.flash_attn_varlen_func(q[0], k[0], v[0], starts, starts, 8, 8, **give)]
        if "dropout_p" not in give:
            calls.append(lambda: nt.flash_attn_with_kvcache(q, k, v, **give))
        for call in calls:
            with pytest.raises(napkin.InputError) as error:
                call()
            assert error.value.where in give and "attention_sm90, the nearest, " in error.value.problem
            assert reason in error.value.problem and right in error.value.right
    heads_first = [t.transpose(1, 2) for t in (q, k, v)]
    for give, reason in (({"s_aux": torch.ones(4)}, "has no sink"), ({"softcap": 50.0}, "takes scores as they are"), ({"dropout": 0.1}, "drops no score")):
        with pytest.raises(napkin.InputError, match=reason):
            nt.transformers_attention(None, *heads_first, **give)
    with pytest.raises(napkin.InputError, match="q and k as they are: q and k rotated before the call"):
        nt.flash_attn_with_kvcache(q, k, v, rotary_cos=q, rotary_sin=q)
    with pytest.raises(napkin.InputError, match="return_debug_mask: is given"):
        _registry._sdpa(*heads_first, return_debug_mask=True)
    for algorithm in ("soft_capped_attention", "alibi_attention", "sink_attention"):  # what the messages point to
        assert algorithm in [one.name for one in napkin.algorithms()]


def test_kept_keys_that_are_refused():
    q, k, v = (t.transpose(1, 2) for t in tensors())
    for more, words in (({"rotary_cos": q}, "rotary_cos: is given"), ({"softcap": 1.0}, "softcap"), ({"k": k}, "new keys and new values"),
                        ({"k": k, "v": v}, "cache_seqlens"), ({"cache_seqlens": 17}, "a length from 0 to 16"),
                        ({"cache_seqlens": [1, 2]}, "no length for each sequence")):
        with pytest.raises(napkin.InputError, match=words):
            nt.flash_attn_with_kvcache(q, k, v, **more)


def test_transformers():
    transformers = pytest.importorskip("transformers", reason="SKIP: no transformers in this environment")
    nt.register_transformers()
    config = transformers.LlamaConfig(hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                                      num_key_value_heads=2, vocab_size=50)
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(config).to(torch.bfloat16).eval()
    ids = torch.randint(0, 50, (2, 12))
    with torch.no_grad():
        model.set_attn_implementation("sdpa")
        right = model(ids).logits
        model.set_attn_implementation("napkin")
        assert torch.allclose(model(ids).logits.float(), right.float(), atol=0.05)
        assert torch.equal(model.generate(ids, max_new_tokens=3, do_sample=False)[:, :12], ids)
        for side in (slice(0, 4), slice(9, 12)):  # padding before the tokens, and behind them
            padded = torch.ones_like(ids)
            padded[0, side] = 0
            model.set_attn_implementation("sdpa")
            right = model(ids, attention_mask=padded).logits[padded.bool()]
            model.set_attn_implementation("napkin")
            assert torch.allclose(model(ids, attention_mask=padded).logits[padded.bool()].float(), right.float(), atol=0.05)
        padded = torch.ones_like(ids)
        padded[0, :4] = 0
        found = []
        for name in ("sdpa", "napkin"):
            model.set_attn_implementation(name)
            found.append(model.generate(ids, attention_mask=padded, max_new_tokens=4, do_sample=False, output_logits=True,
                                        return_dict_in_generate=True).logits[0])
        assert torch.allclose(found[0].float(), found[1].float(), atol=0.05)
        with pytest.raises(napkin.InputError, match="of more than padding"):
            nt.transformers_attention(model, *tensors(), attention_mask=torch.ones(2, 1, 8, 16, dtype=torch.bool))
        config = transformers.MistralConfig(hidden_size=64, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4,
                                            num_key_value_heads=2, vocab_size=50, sliding_window=12)
        windowed = transformers.MistralForCausalLM(config).to(torch.bfloat16).eval()
        windowed.set_attn_implementation("sdpa")
        right = windowed(ids, attention_mask=padded).logits[padded.bool()]
        windowed.set_attn_implementation("napkin")  # a window that the text does not fill hides nothing
        assert torch.allclose(windowed(ids, attention_mask=padded).logits[padded.bool()].float(), right.float(), atol=0.05)
        windowed.config.sliding_window = 4
        with pytest.raises(napkin.InputError, match="of more than padding"):
            windowed(ids, attention_mask=padded)
        with pytest.raises(napkin.InputError, match="of more than padding"):  # sequences packed into one row
            model(ids, position_ids=torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7]] * 2), use_cache=False)
