"""The C that every target's launchers share: the header, and the dispatcher of several versions."""

from __future__ import annotations

from typing import Any

__all__ = ["DISPATCHER", "HEADER", "render"]

#: what the functions give: 0, these, or the driver's own positive code
CODES = {
    "TRI_OK": 0,
    "TRI_BAD_GRID": -1,
    "TRI_NO_MEMORY": -2,
    "TRI_NO_DRIVER": -3,
    "TRI_NO_VERSION": -4,
    "TRI_ASSERTION": -5,
    "TRI_NOT_LOADED": -6,
}

_CODES_TEXT = """\
#ifndef TRI_CODES
#define TRI_CODES
{% for name, value in codes.items() -%}
#define {{ name }} ({{ value }})
{% endfor -%}
#endif
"""

HEADER = (
    """\
/* {{ title }} */
#ifndef {{ guard }}
#define {{ guard }}

#include <stdint.h>
{% for include in includes -%}
#include {{ include }}
{% endfor %}
"""
    + _CODES_TEXT
    + """
#ifdef __cplusplus
extern "C" {
#endif

{% for comment, declaration in declarations -%}
/* {{ comment }} */
{{ declaration }};

{% endfor -%}
#ifdef __cplusplus
}
#endif

#endif
"""
)

DISPATCHER = """\
/* {{ title }} */
#include "{{ header }}"
{% for header in headers -%}
#include "{{ header }}"
{% endfor %}
int32_t load_{{ name }}(void)
{
    int32_t status = 0;
{%- for version in versions %}
    if (!status) status = load_{{ version.function }}();
{%- endfor %}
    return status;
}

int32_t unload_{{ name }}(void)
{
    int32_t status = 0, failed = 0;
{%- for version in versions %}
    failed = unload_{{ version.function }}();
    if (failed) status = failed;
{%- endfor %}
    return status;
}
{% for algorithm in algorithms %}
static int32_t {{ name }}_algorithm_{{ loop.index0 }}({{ parameters }})
{
{%- for condition, version in algorithm %}
    if ({{ condition or "1" }})
        return {{ version.function }}({{ call }});
{%- endfor %}
    return TRI_NO_VERSION;
}
{% endfor %}
int32_t {{ name }}({{ parameters }}, int32_t algorithm)
{
    switch (algorithm) {
{%- for algorithm in algorithms %}
    case {{ loop.index0 }}: return {{ name }}_algorithm_{{ loop.index0 }}({{ call }});
{%- endfor %}
    default: return TRI_NO_VERSION;
    }
}

int32_t {{ name }}_default({{ parameters }})
{
    return {{ name }}({{ call }}, 0);
}

int32_t {{ name }}_get_num_algos(void)
{
    return {{ algorithms | length }};
}
"""


def render(template: str, **facts: Any) -> str:
    """``template`` filled in; a name that is missing is an error."""
    import jinja2

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    return environment.from_string(template).render(codes=CODES, **facts)
